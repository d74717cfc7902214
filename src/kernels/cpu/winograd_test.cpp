// Winograd's kernels in both widths of vectors against the reference in f64: how large their errors
// are, sizes at which nothing comes out even, and why they decline.
#include "kernels/cpu/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kernels/cpu/convolution_algorithms.h"
#include "kernels/cpu/convolution_trial_test.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {
namespace {

OpCase conv_case(const Shape& image, std::int64_t out, std::int64_t pad) {
  return square_case(image, out, 3, pad);
}

auto winograd_in_lanes(int lanes) {
  return [lanes](const Convolution& convolution, const Request& request) {
    return winograd_offers_in(convolution, request, lanes);
  };
}

double bound_of(const std::string& algorithm) {
  return algorithm == "winograd4" ? kWinograd4Error : kWinograd2Error;
}

TEST(Winograd, ErrorsStayBelowTheStatedBounds) {
  for (std::int64_t channels : {16, 64, 256, 512}) {
    ConvolutionTrial trial(conv_case({1, channels, 8, 8}, channels, 1));
    for (Phase phase : kConvolutionPhases) {
      double worst[2] = {};
      trial.for_each(phase, winograd_in_lanes(widest_vector()),
                     [&](const std::string& algorithm, double error) {
                       EXPECT_LT(error, bound_of(algorithm))
                           << channels << " channels, " << to_string(phase);
                       double& of_kind = worst[algorithm == "winograd4"];
                       of_kind = std::max(of_kind, error);
                     });
      std::printf("%4d channels, %-15s winograd4 %.1e, winograd2 %.1e\n",
                  static_cast<int>(channels), to_string(phase).data(), worst[1], worst[0]);
    }
  }
}

TEST(Winograd, AnySizeComesOutRightInAllWidths) {
  const std::vector<OpCase> rows{
      conv_case({2, 19, 13, 11}, 21, 1), conv_case({2, 19, 13, 11}, 21, 0),
      conv_case({2, 19, 13, 11}, 21, 2), conv_case({1, 3, 1, 1}, 5, 1),
      conv_case({3, 17, 5, 7}, 17, 1),   conv_case({1, 8, 3, 3}, 40, 0),
      conv_case({1, 130, 6, 5}, 33, 2),  conv_case({2, 33, 40, 37}, 65, 1),
      conv_case({1, 1, 2, 30}, 1, 2)};
  for (const OpCase& row : rows) {
    ConvolutionTrial trial(row);
    for (Phase phase : kConvolutionPhases) {
      for (int lanes = 8; lanes <= widest_vector(); lanes *= 2) {
        int seen = 0;
        trial.for_each(
            phase, winograd_in_lanes(lanes), [&](const std::string& algorithm, double error) {
              EXPECT_LT(error, bound_of(algorithm)) << algorithm << " in " << lanes << " lanes of "
                                                    << to_text({row.op, row.inputs, phase, {}});
              ++seen;
            });
        EXPECT_GE(seen, 2);
      }
    }
  }
}

/// The weight's gradient of 2 x 3 x 21 x 18 blocks of channels with 5 blocks out, with the work
/// divided like this.
std::vector<float> weights_by(WinogradWeight::Sharing sharing, std::int64_t tile_block) {
  const int lanes = widest_vector();
  WinogradWeight kernel{.plan = {.samples = 2,
                                 .from = {3 * lanes, 3, 21, 18, lanes},
                                 .to = {5 * lanes, 5, 21, 18, lanes},
                                 .pad = {1, 1},
                                 .outputs = 4,
                                 .threads = 3},
                        .image_at = 0,
                        .output_at = 1,
                        .weight_at = 2};
  kernel.divide();
  kernel.sharing = sharing;
  kernel.plan.tile_block = tile_block;
  auto block = static_cast<std::size_t>(lanes);
  std::vector<float> image(2 * 3 * 21 * 18 * block), output(2 * 5 * 21 * 18 * block),
      weight(3 * 5 * 9 * block * block),
      scratch(static_cast<std::size_t>(kernel.scratch().count) / sizeof(float), NAN);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = std::cos(static_cast<float>(3 * i));
  std::vector<DevicePointer> operands;
  for (std::vector<float>* each : {&image, &output, &weight})
    operands.push_back(reinterpret_cast<DevicePointer>(each->data()));
  kernel({operands, reinterpret_cast<DevicePointer>(scratch.data()), 3});
  return weight;
}

TEST(Winograd, HoweverThreadsShareTheWorkTheGradientOfTheWeightIsTheSame) {
  using Sharing = WinogradWeight::Sharing;
  const std::vector<float> wanted = weights_by(Sharing::parts, 60);
  for (Sharing sharing : {Sharing::tiles, Sharing::steps}) {
    for (std::int64_t tile_block : {7, 25, 60}) {
      std::vector<float> got = weights_by(sharing, tile_block);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(got[i], wanted[i], 1e-3) << "element " << i << ", blocks of " << tile_block;
    }
  }
}

TEST(Winograd, SaysWhyItDeclines) {
  CpuContext context{dnnl::engine(dnnl::engine::kind::cpu, 0), kTrialThreads};
  auto reason = [&](const Conv2d& op, bool winograd = true) {
    context.winograd = winograd;
    KernelKey key{op, {{{2, 16, 9, 9}, DType::f32}}, Phase::forward, {}};
    Request request(key, context);
    return why_not_winograd(convolution_of(op, request).value(), request).value_or("");
  };
  Conv2d op{.out = 16, .kernel = {3, 3}};
  EXPECT_EQ(reason(op), "");
  EXPECT_EQ(reason(op, false), "Winograd is switched off");
  EXPECT_EQ(reason({.out = 16, .kernel = {5, 3}}), "Winograd needs a 3x3 window at stride 1");
  EXPECT_EQ(reason({.out = 16, .kernel = {3, 3}, .stride = {1, 2}}),
            "Winograd needs a 3x3 window at stride 1");
  EXPECT_EQ(reason({.out = 16, .kernel = {3, 3}, .dilation = {2, 2}}),
            "Winograd needs a window without dilation");
  EXPECT_EQ(reason({.out = 16, .kernel = {3, 3}, .groups = 2}),
            "Winograd needs a convolution without groups");
}

TEST(Convolution, EveryAlgorithmOffersOrSaysWhyNot) {
  CpuContext context{dnnl::engine(dnnl::engine::kind::cpu, 0), kTrialThreads};
  KernelKey key{
      Conv2d{.out = 16, .kernel = {5, 5}}, {{{2, 16, 9, 9}, DType::f32}}, Phase::forward, {}};
  Request request(key, context);
  std::vector<DeclinedAlgorithm> declined =
      declined_algorithms(convolution_of(std::get<Conv2d>(key.op), request).value(), request);
  std::map<std::string, std::string> reasons;
  for (const DeclinedAlgorithm& each : declined) reasons[each.name] = each.reason;
  ASSERT_EQ(reasons.size(), 3u);
  EXPECT_NE(reasons.at("library winograd").find("3x3"), std::string::npos);
  EXPECT_NE(reasons.at("winograd").find("3x3"), std::string::npos);
  EXPECT_NE(reasons.at("flipped").find("gradient of the image"), std::string::npos);
}

}  // namespace
}  // namespace troika
