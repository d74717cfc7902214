#include "kernels/cpu/packed_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dnnl_api.h"

namespace troika {
namespace {

std::vector<float> normal_values(std::int64_t count, std::uint64_t stream) {
  RandomStream random{.key = 5, .stream = stream};
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < values.size(); ++at)
    values[at] = static_cast<float>(random.normal(at));
  return values;
}

/// Factors of a product and how they lie.
struct ProductTrial {
  ProductTrial(const ProductExtent& shape, bool turn_a, bool turn_b)
      : extent(shape),
        turned_a(turn_a),
        turned_b(turn_b),
        a(normal_values(shape.rows * shape.depth, 1)),
        b(normal_values(shape.depth * shape.columns, 2)) {}

  Factor left() const {
    Factor plain{a.data(), extent.depth, 1};
    return turned_a ? Factor{a.data(), 1, extent.rows} : plain;
  }
  Factor right() const {
    Factor plain{b.data(), extent.columns, 1};
    return turned_b ? Factor{b.data(), 1, extent.depth} : plain;
  }

  std::vector<float> run(int threads, int lanes) const {
    ProductPlan plan(extent, {.lanes = lanes, .threads = threads, .turned_a = turned_a});
    std::vector<float> c(static_cast<std::size_t>(extent.rows * extent.columns), -77.0f);
    std::vector<float> work(static_cast<std::size_t>(plan.floats_per_part() * plan.parts()), NAN);
    multiply(plan, {left(), right(), c.data(), extent.columns, {}}, work.data());
    return c;
  }

  /// Largest distance from the sums in f64.
  double error(const std::vector<float>& c) const {
    Factor x = left(), y = right();
    double most = 0;
    for (std::int64_t i = 0; i < extent.rows; ++i) {
      for (std::int64_t j = 0; j < extent.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < extent.depth; ++k)
          sum += static_cast<double>(x.first[i * x.row + k * x.column]) *
                 static_cast<double>(y.first[k * y.row + j * y.column]);
        double there = static_cast<double>(c[static_cast<std::size_t>(i * extent.columns + j)]);
        most = std::max(most, std::abs(sum - there));
      }
    }
    return most;
  }

  ProductExtent extent;
  bool turned_a, turned_b;
  std::vector<float> a, b;
};

std::vector<int> lanes_here() {
  std::vector<int> list;
  for (int lanes : {8, 16})
    if (lanes <= allowed_lanes()) list.push_back(lanes);
  return list;
}

/// Rests in every direction, ones, several blocks in every direction.
const std::vector<ProductExtent> kExtents{{1, 1, 1},      {1, 130, 3},    {130, 1, 3},
                                          {5, 7, 1},      {37, 53, 19},   {48, 96, 64},
                                          {61, 700, 600}, {1100, 50, 40}, {3, 17, 1500}};

TEST(PackedProduct, AgreesWithSumsInF64HoweverTheFactorsLie) {
  if (lanes_here().empty()) GTEST_SKIP() << "needs AVX2";
  for (const ProductExtent& extent : kExtents) {
    for (int turns = 0; turns < 4; ++turns) {
      ProductTrial trial(extent, (turns & 1) != 0, (turns & 2) != 0);
      for (int lanes : lanes_here())
        EXPECT_LT(trial.error(trial.run(2, lanes)), 1e-6 * std::sqrt(extent.depth) * 8)
            << extent.rows << " x " << extent.columns << " x " << extent.depth << ", turns "
            << turns << ", lanes " << lanes;
    }
  }
}

TEST(PackedProduct, GivesTheSameBitsOnAnyNumberOfThreadsAndLanes) {
  if (lanes_here().empty()) GTEST_SKIP() << "needs AVX2";
  for (const ProductExtent& extent : kExtents) {
    for (bool turned : {false, true}) {
      ProductTrial trial(extent, turned, !turned);
      std::vector<float> once = trial.run(1, 8);
      for (int lanes : lanes_here())
        for (int threads : {1, 2, 3, 4}) EXPECT_EQ(trial.run(threads, lanes), once) << threads;
    }
  }
}

TEST(PackedProduct, PartsCoverTheResultOnce) {
  for (int lanes : {8, 16}) {
    for (int threads : {1, 2, 3, 6, 16}) {
      for (const ProductExtent& extent : kExtents) {
        ProductPlan plan(extent, {.lanes = lanes, .threads = threads});
        EXPECT_EQ(plan.parts(), threads);
        std::int64_t covered = 0;
        for (int part = 0; part < threads; ++part)
          covered += plan.rows_of(part).extent() * plan.columns_of(part).extent();
        EXPECT_EQ(covered, extent.rows * extent.columns);
      }
    }
  }
}

TEST(PackedProduct, IsOfferedWhereTheInstructionSetAllowsItAndDeclinedWithAReasonElsewhere) {
  auto backend = make_cpu_backend({.threads = 2});
  for (const Op& op : {Op(Linear{.out = 20}), Op(Matmul{})}) {
    std::vector<TensorSpec> inputs{{{30, 40}, DType::f32}};
    if (std::holds_alternative<Matmul>(op)) inputs.push_back({{40, 20}, DType::f32});
    for (Phase phase : {Phase::forward, Phase::backward_data, Phase::backward_weight}) {
      KernelKey key{op, inputs, phase, {}};
      bool is_offered =
          std::ranges::count(backend->candidates(key), "packed", &Candidate::algorithm) > 0;
      EXPECT_EQ(is_offered, allowed_lanes() > 0) << to_text(key);
      EXPECT_EQ(backend->declined(key).empty(), is_offered) << to_text(key);
    }
  }
}

}  // namespace
}  // namespace troika
