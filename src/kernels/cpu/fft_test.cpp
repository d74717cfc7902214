// Convolutions by Fourier transforms in both widths of vectors against the reference in f64: how
// large their errors are, sizes at which nothing comes out even, and why they decline.
#include "kernels/cpu/fft.h"

#include <gtest/gtest.h>

#include "kernels/cpu/convolution_algorithms.h"
#include "kernels/cpu/convolution_trial_test.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {
namespace {

auto fft_in_lanes(int lanes) {
  return [lanes](const Convolution& convolution, const Request& request) {
    return fft_offers_in(convolution, request, lanes);
  };
}

TEST(Fft, ErrorsStayBelowTheStatedBound) {
  struct Row {
    std::int64_t channels, window;
  };
  for (Row row : {Row{16, 5}, Row{64, 5}, Row{256, 5}, Row{64, 11}}) {
    OpCase op = square_case({1, row.channels, 8, 8}, row.channels, row.window, row.window / 2);
    ConvolutionTrial trial(op);
    for (Phase phase : kConvolutionPhases) {
      double worst = 0;
      trial.for_each(phase, fft_in_lanes(widest_vector()),
                     [&](const std::string& algorithm, double error) {
                       EXPECT_LT(error, kFftError)
                           << algorithm << " of " << to_text({op.op, op.inputs, phase, {}});
                       worst = std::max(worst, error);
                     });
      std::printf("%4d channels, window %2d, %-15s %.1e\n", static_cast<int>(row.channels),
                  static_cast<int>(row.window), to_string(phase).data(), worst);
    }
  }
}

TEST(Fft, AnySizeComesOutRightInEveryWidth) {
  std::vector<OpCase> rows{
      square_case({2, 19, 13, 11}, 21, 5, 2),  square_case({2, 19, 13, 11}, 21, 5, 0),
      square_case({2, 19, 13, 11}, 21, 5, 4),  square_case({1, 3, 1, 1}, 5, 7, 3),
      square_case({1, 33, 41, 37}, 17, 7, 3),  square_case({3, 1, 29, 30}, 40, 11, 5),
      square_case({1, 20, 35, 33}, 3, 31, 15), square_case({1, 2, 70, 33}, 18, 17, 0)};
  rows.push_back({"uneven",
                  Conv2d{.out = 18, .kernel = {5, 8}, .pad = {4, 0}, .pad_end = {1, 3}},
                  {{{2, 17, 22, 19}, DType::f64}}});
  for (const OpCase& row : rows) {
    ConvolutionTrial trial(row);
    for (Phase phase : kConvolutionPhases) {
      for (int lanes = 8; lanes <= widest_vector(); lanes *= 2) {
        int seen = 0;
        trial.for_each(phase, fft_in_lanes(lanes), [&](const std::string& algorithm, double error) {
          EXPECT_LT(error, kFftError) << algorithm << " in " << lanes << " lanes of "
                                      << to_text({row.op, row.inputs, phase, {}});
          ++seen;
        });
        EXPECT_GE(seen, 1);
      }
    }
  }
}

Convolution convolution_at(const Request& request) {
  return convolution_of(std::get<Conv2d>(request.key.op), request).value();
}

TEST(Fft, InGroupsAndPanelsTheGradientIsTheSameAsAllAtOnce) {
  FftWeight kernel{.plan = {.samples = 3,
                            .from = {20, 2, 21, 18, 16},
                            .to = {40, 3, 21, 18, 16},
                            .window = {5, 5},
                            .pad = {2, 2},
                            .side = 16,
                            .threads = 2},
                   .image_at = 0,
                   .output_at = 1,
                   .weight_at = 2};
  std::vector<float> image(3 * 2 * 21 * 18 * 16), output(3 * 3 * 21 * 18 * 16);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = std::cos(static_cast<float>(3 * i));
  std::vector<float> wanted;
  for (auto [group, panel] : {std::array<std::int64_t, 2>{12, 3}, {5, 3}, {1, 3}, {12, 2}}) {
    kernel.plan.group = group, kernel.plan.panel = panel;
    std::vector<float> weight(3 * 2 * 25 * 256),
        scratch(static_cast<std::size_t>(kernel.scratch().count) / sizeof(float), NAN);
    std::vector<DevicePointer> operands;
    for (std::vector<float>* each : {&image, &output, &weight})
      operands.push_back(reinterpret_cast<DevicePointer>(each->data()));
    kernel({operands, reinterpret_cast<DevicePointer>(scratch.data()), 2});
    if (wanted.empty()) wanted = weight;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(weight[i], wanted[i], 1e-3)
          << "element " << i << ", groups of " << group << ", panels of " << panel;
  }
}

TEST(Fft, OffersTheSidesOfTilesThatNeedLeastArithmetic) {
  CpuContext context{dnnl::engine(dnnl::engine::kind::cpu, 0), kTrialThreads};
  auto algorithms = [&](const Shape& image, std::int64_t window) {
    OpCase row = square_case(image, 64, window, window / 2);
    KernelKey key{row.op, {{image, DType::f32}}, Phase::forward, {}};
    Request request(key, context);
    std::vector<std::string> list;
    for (const Offer& offer : fft_offers(convolution_at(request), request))
      list.push_back(offer.candidate.algorithm);
    return list;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(algorithms({32, 64, 12, 12}, 5), List{"fft16"});
  EXPECT_EQ(algorithms({32, 64, 27, 27}, 5), List{"fft32"});
  EXPECT_EQ(algorithms({8, 64, 34, 34}, 31), List{"fft64"});
}

TEST(Fft, SaysWhyItDeclines) {
  CpuContext context{dnnl::engine(dnnl::engine::kind::cpu, 0), kTrialThreads};
  auto reason = [&](const Conv2d& op, DType dtype = DType::f32) {
    KernelKey key{op, {{{2, 16, 99, 99}, dtype}}, Phase::forward, {}};
    Request request(key, context);
    return why_not_fft(convolution_at(request), request).value_or("");
  };
  EXPECT_EQ(reason({.out = 16, .kernel = {5, 5}}), "");
  EXPECT_EQ(reason({.out = 16, .kernel = {3, 3}}),
            "Fourier transforms pay from a 5x5 window on; 3x3 ones are Winograd's");
  EXPECT_EQ(reason({.out = 16, .kernel = {1, 7}}), reason({.out = 16, .kernel = {3, 3}}));
  EXPECT_EQ(reason({.out = 16, .kernel = {5, 49}}), "the FFT's tiles hold windows up to 48x48");
  EXPECT_EQ(reason({.out = 16, .kernel = {5, 5}, .stride = {1, 2}}),
            "the FFT computes every position of the window, so it needs stride 1");
  EXPECT_EQ(reason({.out = 16, .kernel = {5, 5}, .dilation = {2, 2}}),
            "the FFT needs a window without dilation");
  EXPECT_EQ(reason({.out = 16, .kernel = {5, 5}, .groups = 2}),
            "the FFT needs a convolution without groups");
  EXPECT_EQ(reason({.out = 16, .kernel = {5, 5}}, DType::f64), "the FFT is written for f32");
}

}  // namespace
}  // namespace troika
