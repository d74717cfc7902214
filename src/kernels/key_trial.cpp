// The reference runs all phases in f64, on values that were rounded to the key's element types: so
// a difference is the candidate's error and not that of the inputs.
#include "kernels/key_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/in_layout.h"
#include "kernels/reference/reference.h"
#include "kernels/tolerance.h"

namespace troika {
namespace {

constexpr std::uint64_t kTrialSeed = 17;

bool is_gradient_phase(Phase phase) {
  return phase == Phase::backward || phase == Phase::backward_data ||
         phase == Phase::backward_weight || phase == Phase::backward_statistics ||
         phase == Phase::backward_apply;
}

TensorSpec exact(TensorSpec spec) {
  if (spec.dtype != DType::i32) spec.dtype = DType::f64;
  return spec;
}

/// Takes each box from the end of its input. `position` has where those of layers lie in y.
std::vector<std::int64_t> last_boxes(const Assemble& op, const std::vector<TensorSpec>& inputs,
                                     std::vector<std::int64_t> position) {
  std::vector<Region> boxes = boxes_of(op);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    std::size_t first = position.size() / inputs.size() * input;
    for (std::size_t dim = 0; dim < boxes[input].rank(); ++dim)
      position[first + dim] = inputs[input].shape[dim] - boxes[input][dim].extent();
  }
  return position;
}

/// Some of the sequences end in the middle of the sequence, where the operator's steps are taken
/// from. Its units are the last.
std::vector<std::int64_t> middle_of(const Recurrent& op, std::int64_t steps) {
  std::int64_t begin = op.sequence > 0 ? (op.sequence - steps) / 2 : 0;
  return {begin, op.hidden - units_of(op)};
}

/// Returns a position away from the origin, where a kernel that ignores its position is wrong.
std::vector<std::int64_t> trial_position(const KernelKey& key) {
  Signature s = signature(key.op, key.inputs);
  std::vector<std::int64_t> position = position_of(key.op, s, s.whole_tile());
  // In a half of the vocabulary that some tokens or targets are not in. Forward without stages has
  // all classes.
  if (const auto* embedding = std::get_if<Embedding>(&key.op)) return {embedding->vocabulary / 2};
  if (std::holds_alternative<CrossEntropy>(key.op))
    return {key.phase == Phase::forward ? 0 : key.inputs[0].shape.back() / 2};
  if (const auto* attention = std::get_if<Attention>(&key.op); attention && !position.empty())
    return {key.inputs[0].shape[1] - s.slots[AttentionSlots(*attention).y].spec.shape[1]};
  if (const auto* recurrent = std::get_if<Recurrent>(&key.op))
    return middle_of(*recurrent, key.inputs[0].shape[1]);
  if (const auto* assemble = std::get_if<Assemble>(&key.op))
    return last_boxes(*assemble, key.inputs, std::move(position));
  std::iota(position.begin(), position.end(), 1);
  return position;
}

OpCase exact_case(const KernelKey& key) {
  OpCase row{"trial", key.op, {}, {}, trial_position(key)};
  for (const TensorSpec& input : key.inputs) row.inputs.push_back(exact(input));
  if (auto* embedding = std::get_if<Embedding>(&row.op)) embedding->dtype = DType::f64;
  // Operands are put into their layouts for the launch; as values a reorder is a copy.
  if (auto* reorder = std::get_if<Reorder>(&row.op)) *reorder = {};
  return row;
}

/// An operator in f64 whose values have been rounded to the element types of the key.
struct ExactOp {
  /// Without the operators that are fused to the key's.
  explicit ExactOp(const KernelKey& key)
      : trial(exact_case(key), kTrialSeed), stored(signature(key.op, key.inputs)) {
    round();
  }

  /// After each phase too, because a kernel reads earlier results in the key's element types.
  void round() {
    for (std::size_t at = 0; at < stored.slots.size(); ++at) {
      DType dtype = stored.slots[at].spec.dtype;
      for (HostTensor* tensor : {&trial.values[at], &trial.gradients[at]})
        *tensor = converted(converted(*tensor, dtype), tensor->spec.dtype);
    }
  }
  int output() const { return trial.signature.slots_of(Role::output)[0]; }
  bool is_output(const Use& use) const {
    return trial.signature.slots[static_cast<std::size_t>(use.slot)].role == Role::output;
  }
  HostTensor& value(int slot) { return trial.values[static_cast<std::size_t>(slot)]; }
  HostTensor& gradient(int slot) { return trial.gradients[static_cast<std::size_t>(slot)]; }

  OpTrial trial;
  Signature stored;
};

/// Returns whether the phase reads results of an earlier one.
bool reads_results(const Signature& signature, Phase phase) {
  return std::ranges::any_of(signature.at(phase).uses, [&](const Use& use) {
    Role role = signature.slots[static_cast<std::size_t>(use.slot)].role;
    return !use.gradient && use.access != Access::write &&
           (role == Role::output || role == Role::saved || role == Role::statistic);
  });
}

/// Runs the phases whose results the last one reads.
void run_before(ExactOp& op, Phase last, const Backend& reference) {
  if (!reads_results(op.trial.signature, last)) return;
  for (const auto* phases : {&op.trial.signature.phases, &op.trial.signature.staged}) {
    for (const PhaseSpec& phase : *phases) {
      if (phase.phase == last) return;
      // Of the backward phases, only backward_statistics has results that a later one reads.
      bool builds_on = !is_gradient_phase(phase.phase) || phase.phase == Phase::backward_statistics;
      if (!builds_on) continue;
      op.trial.run(phase.phase, reference);
      op.round();
    }
  }
}

/// Appends operands in their order.
class Operands {
 public:
  explicit Operands(KeyTrial& trial) : trial_(trial) {}
  void add(const HostTensor& before, HostTensor after) {
    DType dtype = trial_.operands[trial_.given.size()].spec.dtype;
    trial_.given.push_back(before.spec.dtype == dtype ? before : converted(before, dtype));
    trial_.expected.push_back(std::move(after));
  }

 private:
  KeyTrial& trial_;
};

/// Four times the error of the reference in f32: a kernel may add in another order.
double lost_in_f32(const KernelKey& key, const ExactOp& before, ExactOp& after,
                   const Backend& reference) {
  OpTrial plain({"trial", key.op, key.inputs}, kTrialSeed);
  for (std::size_t at = 0; at < plain.values.size(); ++at) {
    DType dtype = plain.values[at].spec.dtype;
    plain.values[at] = converted(before.trial.values[at], dtype);
    plain.gradients[at] = converted(before.trial.gradients[at], dtype);
  }
  plain.run(key.phase, reference);
  double most = 0;
  for (const Use& use : plain.signature.at(key.phase).uses)
    if (use.access != Access::read)
      most = std::max(most, distance(plain.tensor(use), after.trial.tensor(use)));
  return 4 * most;
}

void fill_single(KeyTrial& trial, const Backend& reference) {
  const KernelKey& key = trial.key;
  ExactOp op(key);
  trial.position = op.trial.position;
  run_before(op, key.phase, reference);
  // A phase may update an operand, so its values before and after are both needed.
  ExactOp after = op;
  after.trial.run(key.phase, reference);
  Operands operands(trial);
  for (const Use& use : op.trial.signature.at(key.phase).uses)
    operands.add(op.trial.tensor(use), after.trial.tensor(use));
  if (std::holds_alternative<Recurrent>(key.op))
    trial.rounding = lost_in_f32(key, op, after, reference);
}

/// Runs the operator and those fused to it forward, each on the result of the one before.
std::vector<ExactOp> run_chain(const KernelKey& key, const Backend& reference) {
  std::vector<ExactOp> chain;
  Phase phase = is_gradient_phase(key.phase) ? Phase::forward : key.phase;
  chain.emplace_back(key);
  run_before(chain[0], phase, reference);
  chain[0].trial.run(phase, reference);
  for (const FusedOp& next : key.fused) {
    HostTensor y = chain.back().value(chain.back().output());
    std::vector<TensorSpec> inputs{
        chain.back().stored.slots[static_cast<std::size_t>(chain.back().output())].spec};
    inputs.insert(inputs.end(), next.others.begin(), next.others.end());
    ExactOp& op = chain.emplace_back(KernelKey{next.op, inputs, Phase::forward, {}});
    op.value(0) = std::move(y);
    op.trial.run(Phase::forward, reference);
  }
  return chain;
}

/// In the order of position_count.
std::vector<std::int64_t> position_of(const std::vector<ExactOp>& chain) {
  std::vector<std::int64_t> position;
  for (const ExactOp& op : chain)
    position.insert(position.end(), op.trial.position.begin(), op.trial.position.end());
  return position;
}

/// In the order of operands_of. Values between two fused operators are not operands.
void fill_forward(KeyTrial& trial, const Backend& reference) {
  std::vector<ExactOp> chain = run_chain(trial.key, reference);
  trial.position = position_of(chain);
  Operands operands(trial);
  for (std::size_t at = 0; at < chain.size(); ++at) {
    bool first = at == 0, last = at + 1 == chain.size();
    Phase phase = first ? trial.key.phase : Phase::forward;
    for (const Use& use : chain[at].trial.signature.at(phase).uses) {
      bool passed_on = !last && use.access == Access::write && chain[at].is_output(use);
      bool taken = !first && use.slot == 0;
      const HostTensor& tensor = chain[at].trial.tensor(use);
      if (!passed_on && !taken) operands.add(tensor, tensor);
    }
  }
}

/// The gradient passes the following activation first, then the operator.
void fill_backward(KeyTrial& trial, const Backend& reference) {
  std::vector<ExactOp> chain = run_chain(trial.key, reference);
  TROIKA_CHECK_EQ(chain.size(), 2u);
  trial.position = position_of(chain);
  ExactOp &op = chain[0], &behind = chain[1];
  // Forward and backward are separate kernels, so values between them are rounded.
  op.round();
  HostTensor dy = behind.gradient(behind.output());
  behind.trial.run(Phase::backward_data, reference);
  op.gradient(op.output()) = behind.gradient(0);
  op.trial.run(trial.key.phase, reference);
  Operands operands(trial);
  bool reads_all = true;
  for (const Use& use : op.trial.signature.at(trial.key.phase).uses) {
    // As in operands_of: the activation's values stand before the first result.
    if (use.access != Access::read && std::exchange(reads_all, false)) {
      for (const Use& other : behind.trial.signature.at(Phase::backward_data).uses) {
        const HostTensor& tensor = behind.trial.tensor(other);
        if (!other.gradient) operands.add(tensor, tensor);
      }
    }
    bool is_dy = use.gradient && use.slot == op.output();
    const HostTensor& tensor = is_dy ? dy : op.trial.tensor(use);
    operands.add(tensor, tensor);
  }
}

using Results = std::map<std::size_t, HostTensor>;  // by operand

/// One launch in which all memory that it may write is poisoned beforehand.
class PoisonedLaunch {
 public:
  PoisonedLaunch(const KeyTrial& trial, const Candidate& candidate, std::byte poison)
      : trial_(trial), poison_(poison) {
    for (std::size_t at = 0; at < trial.operands.size(); ++at) {
      InLayout& held = held_.emplace_back(trial.operands[at].spec, candidate.layouts[at], poison);
      // A result must not depend on earlier contents of its buffer.
      addresses_.push_back(trial.operands[at].access == Access::write
                               ? held.fill(poison)
                               : held.load(trial.given[at].bytes));
      holder_.push_back(at);
    }
    scratch_bytes_ = static_cast<std::size_t>(candidate.scratch.count);
    scratch_.assign(scratch_bytes_ + kAligned + kScratchGuard, poison);
  }

  /// Makes the two operands share memory.
  void share(const InPlace& pair) {
    auto write = static_cast<std::size_t>(pair.write), read = static_cast<std::size_t>(pair.read);
    addresses_[write] = addresses_[read];
    holder_[write] = read;
  }

  void run(Kernel& kernel) { kernel.launch(addresses_, scratch(), trial_.position); }

  /// Returns the written operands.
  Results results() const {
    Results tensors;
    for (std::size_t at = 0; at < trial_.operands.size(); ++at) {
      if (trial_.operands[at].access == Access::read) continue;
      HostTensor& tensor = tensors.try_emplace(at, trial_.operands[at].spec).first->second;
      held_[holder_[at]].store(tensor.bytes);
    }
    return tensors;
  }

  /// Checks that the bytes after all buffers are unchanged.
  std::string find_overrun() {
    for (std::size_t at = 0; at < held_.size(); ++at)
      if (held_[at].is_overrun()) return "writes past operand " + trial_.operands[at].name;
    std::span behind(scratch() + scratch_bytes_, kScratchGuard);
    bool same = std::ranges::all_of(behind, [&](std::byte byte) { return byte == poison_; });
    return same ? "" : "writes past its scratch";
  }

 private:
  // In bytes. A faulty kernel may miss the end of its scratch by more than one vector.
  static constexpr std::size_t kAligned = 64, kScratchGuard = 16384;

  DevicePointer scratch() {
    auto address = reinterpret_cast<std::uintptr_t>(scratch_.data());
    return scratch_.data() + (kAligned - address % kAligned);
  }

  const KeyTrial& trial_;
  std::byte poison_;
  std::vector<InLayout> held_;
  std::vector<DevicePointer> addresses_;
  std::vector<std::size_t> holder_;  // index into held_ of each operand's memory
  std::size_t scratch_bytes_ = 0;
  std::vector<std::byte> scratch_;
};

std::string find_difference(const KeyTrial& trial, const Results& results, double allowed) {
  for (const auto& [at, result] : results) {
    double off = distance(result, trial.expected[at]);
    if (off > allowed)
      return fmt::format("{} is off by {:.2g}, {:.2g} is allowed", trial.operands[at].name, off,
                         allowed);
  }
  return "";
}

// Poison: bytes of NaNs, and of large numbers. Any sum that includes either is visibly wrong.
constexpr std::byte kNans{0xff}, kLarge{0x4b};

}  // namespace

KeyTrial make_trial(const KernelKey& key) {
  static const std::unique_ptr<Backend> reference = make_reference_backend();
  KeyTrial trial{.key = key, .operands = operands_of(key)};
  if (key.fused.empty())
    fill_single(trial, *reference);
  else if (is_gradient_phase(key.phase))
    fill_backward(trial, *reference);
  else
    fill_forward(trial, *reference);
  return trial;
}

std::string find_fault(const KeyTrial& trial, const Backend& backend, const Candidate& candidate) {
  double allowed = tolerance(trial.key, candidate.algorithm) + trial.rounding;
  std::unique_ptr<Kernel> kernel = backend.compile(trial.key, candidate);
  // Launches directly follow each other, because between launches the kernels' threads fall asleep.
  PoisonedLaunch launches[]{{trial, candidate, kNans}, {trial, candidate, kLarge}};
  for (PoisonedLaunch& launch : launches) launch.run(*kernel);
  std::vector<Results> runs;
  for (PoisonedLaunch& launch : launches) {
    if (std::string fault = launch.find_overrun(); !fault.empty()) return fault;
    runs.push_back(launch.results());
    if (std::string fault = find_difference(trial, runs.back(), allowed); !fault.empty())
      return fault;
  }
  // Both results are within the bound, but reading poison or racing threads change bits.
  for (const auto& [at, result] : runs[0])
    if (result.bytes != runs[1].at(at).bytes) return trial.operands[at].name + " is not repeatable";
  for (const InPlace& pair : candidate.in_place) {
    PoisonedLaunch launch(trial, candidate, kNans);
    launch.share(pair);
    launch.run(*kernel);
    if (std::string fault = find_difference(trial, launch.results(), allowed); !fault.empty())
      return "in place " + fault;
  }
  return "";
}

}  // namespace troika
