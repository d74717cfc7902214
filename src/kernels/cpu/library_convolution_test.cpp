// Convolutions by oneDNN: implementations of it that are known to be wrong are not offered.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/convolution_algorithms.h"
#include "kernels/cpu/convolution_trial_test.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

OpCase strided_case(std::int64_t channels, std::int64_t side, std::int64_t stride = 1) {
  return {"strided",
          Conv2d{.out = 20, .kernel = {1, 1}, .stride = {stride, 3}},
          {f64({3, channels, side, side})}};
}

/// A byte that no kernel writes by chance to all bytes of a guard.
constexpr std::byte kGuardByte{0xa5};
constexpr std::size_t kGuard = 1 << 16;

/// Launches on zeros, and says whether the bytes behind the scratch are as before.
bool stays_in_scratch(const Request& request, const Offer& offer) {
  std::vector<std::vector<std::byte>> held;
  std::vector<DevicePointer> operands;
  for (std::size_t at = 0; at < request.operands.size(); ++at) {
    const TensorSpec& spec = request.spec(at);
    Bytes bytes = stored_bytes(offer.candidate.layouts[at], spec.shape, spec.dtype);
    held.emplace_back(static_cast<std::size_t>(bytes.count));
    operands.push_back(held.back().data());
  }
  auto size = static_cast<std::size_t>(offer.candidate.scratch.count);
  std::vector<std::byte> scratch(size + kGuard, kGuardByte);
  offer.make(offer.candidate)->launch(operands, scratch.data(), {});
  return std::ranges::all_of(std::span(scratch).subspan(size),
                             [](std::byte byte) { return byte == kGuardByte; });
}

TEST(LibraryConvolution, NoWeightGradientWritesPastItsScratch) {
  CpuContext context{dnnl::engine(dnnl::engine::kind::cpu, 0), kTrialThreads};
  int seen = 0;
  for (std::int64_t channels : {1, 3, 7, 8, 9, 15, 16, 17}) {
    for (std::int64_t stride : {1, 2}) {
      OpCase row = in_dtype(strided_case(channels, 24, stride), DType::f32);
      KernelKey key{row.op, row.inputs, Phase::backward_weight, {}};
      Request request(key, context);
      Convolution convolution = convolution_of(std::get<Conv2d>(key.op), request).value();
      for (const Offer& offer : direct_offers(convolution, request)) {
        EXPECT_TRUE(stays_in_scratch(request, offer))
            << channels << " channels, stride " << stride << ", " << offer.candidate.algorithm
            << " " << to_string(offer.candidate.layouts[0]);
        ++seen;
      }
    }
  }
  EXPECT_GE(seen, 16);
}

TEST(LibraryConvolution, FewChannelsAtAStrideHaveTheRightWeightGradient) {
  for (std::int64_t channels : {1, 3, 7, 8, 9, 15}) {
    for (std::int64_t side : {6, 12, 24}) {
      ConvolutionTrial trial(strided_case(channels, side, 2));
      trial.for_each(
          Phase::backward_weight, direct_offers, [&](const std::string& algorithm, double error) {
            EXPECT_LT(error, 2e-5) << algorithm << ", " << channels << " channels, side " << side;
          });
    }
  }
}

// Tiles of one operator may differ in their shape, but what they write must lie alike.
TEST(LibraryConvolution, SomeKernelLeavesItsResultPlainForEveryShape) {
  auto backend = make_cpu_backend({.threads = kTrialThreads});
  for (std::int64_t inputs : {1, 3, 17, 51, 64}) {
    for (std::int64_t outputs : {1, 2, 7, 17, 64}) {
      for (std::int64_t side : {1, 2, 7}) {
        for (Phase phase : {Phase::forward, Phase::backward_data}) {
          KernelKey key{Conv2d{.out = outputs}, {{{8, inputs, side, side}, DType::f32}}, phase, {}};
          std::vector<Candidate> candidates = backend->candidates(key);
          auto leaves_plain = [](const Candidate& candidate) {
            return candidate.layouts.back() == Layout::plain;
          };
          EXPECT_TRUE(std::ranges::any_of(candidates, leaves_plain)) << to_text(key);
        }
      }
    }
  }
}

TEST(LibraryConvolution, SaysWhichKernelsAreWrong) {
  auto backend = make_cpu_backend({.threads = kTrialThreads});
  auto reasons = [&](std::int64_t channels) {
    OpCase row = in_dtype(strided_case(channels, 12), DType::f32);
    std::vector<std::string> list;
    for (const DeclinedAlgorithm& family :
         backend->declined({row.op, row.inputs, Phase::backward_weight, {}}))
      if (family.name == "direct channels_last") list.push_back(family.reason);
    return list;
  };
  EXPECT_TRUE(reasons(16).empty());
  if (dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx2)
    GTEST_SKIP() << "the kernels concerned need AVX2";
  ASSERT_FALSE(reasons(3).empty());
  EXPECT_NE(reasons(3)[0].find("writes past its workspace"), std::string::npos);
}

}  // namespace
}  // namespace troika
