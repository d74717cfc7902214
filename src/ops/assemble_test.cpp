#include "ops/assemble.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"

namespace troika {
namespace {

/// A few boxes with random positions and sizes in a 5 x 6 tensor, from inputs of 7 x 7.
Assemble random_boxes(std::uint64_t seed) {
  RandomStream random{.key = seed};
  std::uint64_t next = 0;
  auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random.below(next++, static_cast<std::uint64_t>(limit)));
  };
  Assemble op{.shape = {5, 6}};
  for (std::int64_t count = 1 + below(4); count > 0; --count) {
    BoxPair box;
    for (std::int64_t length : op.shape) {
      std::int64_t extent = 1 + below(length), to = below(length - extent + 1),
                   from = below(7 - extent + 1);
      box.from.ranges.push_back({from, from + extent});
      box.to.ranges.push_back({to, to + extent});
    }
    add_box(op, box);
  }
  return op;
}

using Grid = std::vector<std::vector<double>>;

void for_each_element(const BoxPair& box, const auto& visit) {
  for (std::int64_t i = 0; i < box.to[0].extent(); ++i)
    for (std::int64_t j = 0; j < box.to[1].extent(); ++j)
      visit(box.from[0].begin + i, box.from[1].begin + j, box.to[0].begin + i, box.to[1].begin + j);
}

double value_at(std::size_t input, std::int64_t i, std::int64_t j) {
  return static_cast<double>((input + 1) * 100) + static_cast<double>(i * 7 + j);
}

TEST(Assemble, BoxesReadBackAsTheyWereAdded) {
  Assemble op{.shape = {4, 2}};
  add_box(op, {{{{1, 3}, {0, 2}}}, {{{2, 4}, {0, 2}}}});
  std::vector<BoxPair> boxes = boxes_of(op);
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].from, (Region{{{1, 3}, {0, 2}}}));
  EXPECT_EQ(boxes[0].to, (Region{{{2, 4}, {0, 2}}}));
}

TEST(Assemble, ThePlanCopiesEachElementFirstAndCombinesTheRest) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Assemble op = random_boxes(seed);
    Grid expected(5, std::vector<double>(6)), found = expected;
    std::vector<std::vector<int>> copies(5, std::vector<int>(6));
    std::vector<BoxPair> boxes = boxes_of(op);
    for (std::size_t input = 0; input < boxes.size(); ++input)
      for_each_element(boxes[input], [&](auto fi, auto fj, auto ti, auto tj) {
        expected[ti][tj] += value_at(input, fi, fj);
      });
    AssemblePlan plan = plan_of(op);
    for (const AssembleStep& step : plan.steps)
      for_each_element(step.box, [&](auto fi, auto fj, auto ti, auto tj) {
        double value = value_at(step.input, fi, fj);
        EXPECT_EQ(step.combines, copies[ti][tj] > 0) << "seed " << seed;
        found[ti][tj] = step.combines ? found[ti][tj] + value : value;
        copies[ti][tj] += !step.combines;
      });
    EXPECT_EQ(found, expected) << "seed " << seed;
    bool covered = true;
    for (const std::vector<int>& row : copies)
      for (int count : row) {
        EXPECT_LE(count, 1) << "seed " << seed;
        covered = covered && count == 1;
      }
    EXPECT_EQ(plan.clears, !covered) << "seed " << seed;
  }
}

TEST(Assemble, RefusesBoxesThatLeaveATensor) {
  TensorSpec input{{4, 2}, DType::f32};
  Assemble fits{.shape = {4, 2}}, reads_beyond = fits, writes_beyond = fits;
  add_box(fits, {{{{0, 2}, {0, 2}}}, {{{2, 4}, {0, 2}}}});
  add_box(reads_beyond, {{{{3, 5}, {0, 2}}}, {{{2, 4}, {0, 2}}}});
  add_box(writes_beyond, {{{{0, 2}, {0, 2}}}, {{{3, 5}, {0, 2}}}});
  EXPECT_NO_THROW(signature(fits, std::vector{input}));
  EXPECT_THROW(signature(reads_beyond, std::vector{input}), Error);
  EXPECT_THROW(signature(writes_beyond, std::vector{input}), Error);
  EXPECT_THROW(signature(fits, std::vector{input, input}), Error);  // one box, two inputs
}

}  // namespace
}  // namespace troika
