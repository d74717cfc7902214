#include "kernels/op_trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "kernels/in_layout.h"
#include "ops/step_scalars.h"
#include "tensor/float16.h"

namespace troika {

namespace {

/// Calls f with a value of the elements' type.
template <class F>
void with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::f16:
      return f(Float16{});
    case DType::bf16:
      return f(BFloat16{});
  }
}

std::vector<double> elements_of(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.spec.shape.elements()));
  with_element(tensor.spec.dtype, [&]<class T>(T element) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&element, tensor.bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(element);
    }
  });
  return values;
}

}  // namespace

double HostTensor::get(std::int64_t element) const {
  double value = 0;
  with_element(spec.dtype, [&]<class T>(T stored) {
    std::memcpy(&stored, bytes.data() + static_cast<std::size_t>(element) * sizeof(T), sizeof(T));
    value = static_cast<double>(stored);
  });
  return value;
}

void HostTensor::set(std::int64_t element, double value) {
  with_element(spec.dtype, [&]<class T>(T stored) {
    stored = static_cast<T>(value);
    std::memcpy(bytes.data() + static_cast<std::size_t>(element) * sizeof(T), &stored, sizeof(T));
  });
}

double distance(const HostTensor& a, const HostTensor& b) {
  TROIKA_CHECK_EQ(to_string(a.spec.shape), to_string(b.spec.shape));
  // A NaN compares as not greater than any bound, so it is treated as infinitely far away.
  double largest = 1, apart = 0;
  const std::vector<double> left = elements_of(a), right = elements_of(b);
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (std::isnan(left[i]) || std::isnan(right[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(right[i]));
    apart = std::max(apart, std::abs(left[i] - right[i]));
  }
  return apart / largest;
}

HostTensor converted(const HostTensor& tensor, DType dtype) {
  if (tensor.spec.dtype == DType::i32 || tensor.spec.dtype == dtype) return tensor;
  HostTensor other({tensor.spec.shape, dtype});
  const std::vector<double> values = elements_of(tensor);
  with_element(dtype, [&]<class T>(T element) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      element = static_cast<T>(values[i]);
      std::memcpy(other.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return other;
}

OpTrial::OpTrial(const OpCase& operator_case, std::uint64_t seed)
    : name(operator_case.name),
      op(operator_case.op),
      inputs(operator_case.inputs),
      signature(troika::signature(op, inputs)),
      position(operator_case.position) {
  if (position.empty()) position = position_of(op, signature, signature.whole_tile());
  for (const Slot& slot : signature.slots) {
    values.emplace_back(slot.spec);
    gradients.emplace_back(slot.spec);
  }
  fill(operator_case, seed);
}

namespace {

/// The numbers are drawn once for all trials and read from another offset for each stream, because
/// drawing them takes longer than most kernels do. Their count is prime, so that no extent of a
/// tensor repeats the pattern.
double normal_value(const RandomStream& random, std::uint64_t at) {
  static const std::vector<double> values = [] {
    std::vector<double> drawn(65521);
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = RandomStream{}.normal(i);
    return drawn;
  }();
  return values[(at + random.stream * 7919 + random.key * 31337) % values.size()];
}

double draw(const Slot& slot, Fill fill, const RandomStream& random, std::int64_t element) {
  auto at = static_cast<std::uint64_t>(element);
  if (slot.spec.dtype == DType::i32) {
    auto bound = static_cast<std::uint64_t>(std::max<std::int64_t>(slot.bound, 1));
    if (fill == Fill::lengths) return 1 + static_cast<double>(random.below(at, bound - 1));
    return static_cast<double>(random.below(at, bound));
  }
  switch (fill) {
    case Fill::normal:
      return normal_value(random, at);
    case Fill::positive:
      return 0.5 + random.uniform(at);
    case Fill::mask:
      // The first key is visible in any case, so that not all are hidden.
      return element == 0 || random.uniform(at) < 0.7 ? 1 : 0;
    case Fill::lengths:
      break;
  }
  return 0;
}

/// Returns the values for which the operator is defined, by the slot's role and name: variances and
/// weights of samples are positive, masks 0 or 1.
Fill fill_of(const Slot& slot) {
  if (slot.role == Role::state) return Fill::positive;
  if (slot.role != Role::input) return Fill::normal;
  if (slot.name == "mask") return Fill::mask;
  if (slot.name == "lengths") return Fill::lengths;
  bool sums = slot.name == "weight_sum" || slot.name == "square_sum";  // of the guard
  return sums || slot.name == "weight" ? Fill::positive : Fill::normal;
}

void fill_step(HostTensor& tensor, Role role) {
  auto set = [&](auto which, double value) { tensor.set(static_cast<std::int64_t>(which), value); };
  if (role == Role::scalars) {
    set(Scalar::learning_rate, 0.1);
    set(Scalar::update_step, 3);
    set(Scalar::key_low, 12345);
  } else {
    set(Control::gradient_scale, 0.5);
    set(Control::ok, 1);
  }
}

}  // namespace

void OpTrial::fill(const OpCase& operator_case, std::uint64_t seed) {
  std::size_t input = 0;
  for (std::size_t at = 0; at < signature.slots.size(); ++at) {
    const Slot& slot = signature.slots[at];
    if (slot.role == Role::scalars || slot.role == Role::control) {
      fill_step(values[at], slot.role);
      continue;
    }
    bool drawn = slot.role == Role::input || slot.role == Role::weight || slot.role == Role::state;
    Fill kind = slot.role == Role::input && input < operator_case.fills.size()
                    ? operator_case.fills[input]
                    : fill_of(slot);
    input += slot.role == Role::input;
    for (std::int64_t i = 0; i < slot.spec.shape.elements(); ++i) {
      if (drawn) values[at].set(i, draw(slot, kind, {.key = seed, .stream = at}, i));
      if (slot.spec.dtype != DType::i32)
        gradients[at].set(i, draw(slot, Fill::normal, {.key = seed, .stream = at + 1000}, i));
    }
  }
}

void OpTrial::run(Phase phase, const Backend& backend) {
  if (signature.at(phase).view) {
    const PhaseSpec& spec = signature.at(phase);
    tensor(spec.uses.back()).bytes = tensor(spec.uses.front()).bytes;
    return;
  }
  std::vector<Candidate> candidates = backend.candidates(key(phase));
  TROIKA_CHECK(!candidates.empty(), backend.name() + " has no kernel for " + to_text(key(phase)));
  run(phase, backend, candidates.front());
}

void OpTrial::run(Phase phase, const Backend& backend, const Candidate& candidate) {
  const PhaseSpec& spec = signature.at(phase);
  std::vector<InLayout> held;
  std::vector<DevicePointer> operands;
  for (std::size_t at = 0; at < spec.uses.size(); ++at) {
    const HostTensor& host = tensor(spec.uses[at]);
    operands.push_back(held.emplace_back(host.spec, candidate.layouts[at]).load(host.bytes));
  }
  // A launch must not rely on the contents of its scratch, so it is filled with NaNs.
  std::vector<std::byte> scratch(static_cast<std::size_t>(candidate.scratch.count) + 64,
                                 std::byte{0xff});
  auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
  backend.compile(key(phase), candidate)
      ->launch(operands, scratch.data() + (64 - address % 64), position);
  for (std::size_t at = 0; at < spec.uses.size(); ++at) {
    if (spec.uses[at].access != Access::read) held[at].store(tensor(spec.uses[at]).bytes);
  }
}

}  // namespace troika
