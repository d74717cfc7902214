// Tensors long enough that their kernels stream what they write, against the reference loops.
#include "kernels/cpu/streaming.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

/// Relative to the largest element.
double apart(HostTensor& a, HostTensor& b) {
  if (a.spec.dtype != DType::f32) return 0;
  std::span<float> left = a.as<float>(), right = b.as<float>();
  double most = 0, largest = 1;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!std::isfinite(left[i])) return INFINITY;
    most = std::max(most, std::abs(static_cast<double>(left[i]) - right[i]));
    largest = std::max(largest, std::abs(static_cast<double>(right[i])));
  }
  return most / largest;
}

/// Every phase, by the candidates of one layout.
void check(const OpCase& row, Layout layout) {
  std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 2}),
                           reference = make_reference_backend();
  OpTrial truth(in_dtype(row, DType::f32), 3);
  int checked = 0;
  for (const PhaseSpec& phase : truth.signature.phases) {
    OpTrial start = truth;
    truth.run(phase.phase, *reference);
    for (const Candidate& candidate : backend->candidates(start.key(phase.phase))) {
      auto matches = [&](Layout each) { return each == layout || candidate.flat; };
      if (std::ranges::none_of(candidate.layouts, matches)) continue;
      ++checked;
      OpTrial trial = start;
      trial.run(phase.phase, *backend, candidate);
      for (const Use& use : phase.uses)
        EXPECT_LT(apart(trial.tensor(use), truth.tensor(use)), 2e-5)
            << row.name << " " << to_string(phase.phase) << " " << to_string(layout);
    }
  }
  EXPECT_GT(checked, 0) << row.name << " " << to_string(layout);
}

class Streaming : public testing::Test {
 protected:
  void SetUp() override {
    try {
      make_cpu_backend({.threads = 2});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

/// Not a multiple of a line, nor of the threads' shares.
constexpr std::int64_t kLong = kStreamed + 1003;

TEST_F(Streaming, ElementByElement) {
  TensorSpec vector = f64({kLong});
  check({"relu", Activation{}, {vector}}, Layout::plain);
  check({"multiply", Binary{.kind = BinaryKind::multiply}, {vector, vector}}, Layout::plain);
  for (std::int64_t terms : {2, 3, 4, 5})
    check({"sum", Sum{.count = terms}, std::vector(static_cast<std::size_t>(terms), vector)},
          Layout::plain);
}

TEST_F(Streaming, Channels) {
  for (Layout layout : {Layout::plain, Layout::channels_last, Layout::blocked16}) {
    check({"batch_norm", BatchNorm{}, {f64({3, 48, 121, 123})}}, layout);
    check({"bias", Bias{.dim = 1}, {f64({3, 48, 121, 123})}}, layout);
  }
}

TEST_F(Streaming, Pooling) {
  Pool2d max{.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .pad_end = {1, 1}};
  Pool2d average{.kind = PoolKind::average, .window = {3, 3}, .pad = {1, 1}, .pad_end = {1, 1}};
  for (Layout layout : {Layout::channels_last, Layout::blocked16}) {
    check({"max", max, {f64({3, 48, 121, 123})}}, layout);
    check({"average", average, {f64({3, 48, 121, 123})}}, layout);
    check({"global", GlobalPool{}, {f64({3, 48, 121, 123})}}, layout);
  }
}

TEST_F(Streaming, RowsAndSlabs) {
  check({"concat", Concat{.dim = 1}, {f64({3, 16, 121, 123}), f64({3, 32, 121, 123})}},
        Layout::blocked16);
  check({"embedding", Embedding{.vocabulary = 2111, .width = 1001}, {i32({5, 9})}}, Layout::plain);
  check({"cross_entropy",
         CrossEntropy{},
         {f64({31, 70001}), i32({31}), f64({31})},
         {Fill::normal, Fill::normal, Fill::mask}},
        Layout::plain);
}

}  // namespace
}  // namespace troika
