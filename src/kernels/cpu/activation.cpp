#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

constexpr float kTwice = 1.5957691216f;  // 2 sqrt(2/pi)
constexpr float kTwiceCubic = 0.044715f * kTwice;

/// Calls f with two functions: the activation, and its derivative at the kept value. That is y,
/// except for gelu (backward_reads_output): it is not monotonic, so its x does not follow from y.
template <class F>
void with_functions(const Activation& op, F&& f) {
  auto slope = static_cast<float>(op.slope);
  switch (op.kind) {
    case ActivationKind::relu:
      return f([](float x) { return x < 0 ? 0.0f : x; },
               [](float y) { return y > 0 ? 1.0f : 0.0f; });
    case ActivationKind::leaky_relu:
      return f([slope](float x) { return x > 0 ? x : slope * x; },
               [slope](float y) { return y > 0 ? 1.0f : slope; });
    case ActivationKind::gelu:
      return f([](float x) { return 0.5f * x * (1 + vector_erf(x * 0.70710678f)); },
               [](float x) {
                 return 0.5f * (1 + vector_erf(x * 0.70710678f)) +
                        x * vector_exp(-0.5f * x * x) * 0.39894228f;
               });
    case ActivationKind::gelu_tanh:
      // (1 + tanh u) / 2 is the sigmoid of 2u.
      return f([](float x) { return x * vector_sigmoid(x * (kTwice + kTwiceCubic * x * x)); },
               [](float x) {
                 // 1 - s as e * s, which does not cancel.
                 float e = vector_exp(-x * (kTwice + kTwiceCubic * x * x)), s = 1.0f / (1.0f + e);
                 return s + x * (e * s * s) * (kTwice + 3 * kTwiceCubic * x * x);
               });
    case ActivationKind::sigmoid:
      return f([](float x) { return vector_sigmoid(x); }, [](float y) { return y * (1 - y); });
    case ActivationKind::tanh:
      return f([](float x) { return vector_tanh(x); }, [](float y) { return 1 - y * y; });
  }
}

Loop forward(const Activation& op, std::int64_t count) {
  Loop loop;
  with_functions(op, [&](auto function, auto) {
    loop = [=](const Launch& launch) {
      const float* x = launch.at(0);
      float* y = launch.at(1);
      for_outputs(launch.threads, count, y, x == y, [=](std::int64_t i) { return function(x[i]); });
    };
  });
  return loop;
}

Loop backward(const Activation& op, std::int64_t count) {
  Loop loop;
  with_functions(op, [&](auto, auto derivative) {
    loop = [=](const Launch& launch) {
      const float *dy = launch.at(0), *kept = launch.at(1);
      float* dx = launch.at(2);
      for_outputs(launch.threads, count, dx, dx == dy || dx == kept,
                  [=](std::int64_t i) { return dy[i] * derivative(kept[i]); });
    };
  });
  return loop;
}

/// Not flat: sigmoid(0) is not 0, but a following convolution relies on zero padding.
Offers sigmoid_forward(const Activation& op, const Request& request) {
  const Shape& shape = request.shape(0);
  Offers list;
  for (Layout layout : activation_layouts(shape)) {
    if (stored_elements(layout, shape) != shape.elements()) continue;
    Candidate candidate{.algorithm = "loop", .layouts = {layout, layout}, .in_place = {{1, 0}}};
    list.push_back(offer_loop(request, candidate, forward(op, shape.elements())));
  }
  return list;
}

}  // namespace

std::function<void(std::span<float>)> in_place_loop(const Activation& op) {
  std::function<void(std::span<float>)> loop;
  with_functions(op, [&](auto function, auto) {
    loop = [=](std::span<float> values) {
      float* x = values.data();
      run_range(0, static_cast<std::int64_t>(values.size()),
                [=](std::int64_t i) { x[i] = function(x[i]); });
    };
  });
  return loop;
}

Offers offers(const Activation& op, const Request& request) {
  if (request.key.phase != Phase::forward)
    return {offer_flat(request, {{2, 0}, {2, 1}},
                       [op](std::int64_t count) { return backward(op, count); })};
  if (op.kind == ActivationKind::sigmoid) return sigmoid_forward(op, request);
  return {offer_flat(request, {{1, 0}}, [op](std::int64_t count) { return forward(op, count); })};
}

}  // namespace troika
