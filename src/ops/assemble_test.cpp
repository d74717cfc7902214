#include "ops/assemble.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "ops/op.h"

namespace troika {
namespace {

/// A few boxes with random begins and sizes in a 5 x 6 tensor.
Assemble random_boxes(std::uint64_t seed) {
  RandomStream random{.key = seed};
  std::uint64_t next = 0;
  auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random.below(next++, static_cast<std::uint64_t>(limit)));
  };
  Assemble op{.shape = {5, 6}};
  for (std::int64_t count = 1 + below(4); count > 0; --count) {
    Region box;
    for (std::int64_t length : op.shape) {
      std::int64_t extent = 1 + below(length), begin = below(length - extent + 1);
      box.ranges.push_back({begin, begin + extent});
    }
    add_box(op, box);
  }
  return op;
}

using Grid = std::vector<std::vector<double>>;

void for_each_element(const Region& from, const Region& to, const auto& visit) {
  for (std::int64_t i = 0; i < to[0].extent(); ++i)
    for (std::int64_t j = 0; j < to[1].extent(); ++j)
      visit(from[0].begin + i, from[1].begin + j, to[0].begin + i, to[1].begin + j);
}

double value_at(std::size_t input, std::int64_t i, std::int64_t j) {
  return static_cast<double>((input + 1) * 100) + static_cast<double>(i * 7 + j);
}

TEST(Assemble, BoxesReadBackAsTheyWereAdded) {
  Assemble op{.shape = {4, 2}};
  add_box(op, {{{2, 4}, {0, 2}}});
  add_box(op, {{{0, 3}, {1, 2}}});
  EXPECT_EQ(boxes_of(op), (std::vector<Region>{{{{2, 4}, {0, 2}}}, {{{0, 3}, {1, 2}}}}));
}

TEST(Assemble, ThePlanCopiesEachElementFirstAndCombinesTheRest) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Assemble op = random_boxes(seed);
    Grid expected(5, std::vector<double>(6)), found = expected;
    std::vector<std::vector<int>> copies(5, std::vector<int>(6));
    std::vector<Region> boxes = boxes_of(op);
    for (std::size_t input = 0; input < boxes.size(); ++input)
      for_each_element(
          Region::whole(boxes[input].shape()), boxes[input],
          [&](auto fi, auto fj, auto ti, auto tj) { expected[ti][tj] += value_at(input, fi, fj); });
    AssemblePlan plan = plan_of(op);
    for (const AssembleStep& step : plan.steps)
      for_each_element(step.from, step.to, [&](auto fi, auto fj, auto ti, auto tj) {
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
  TensorSpec input{{3, 2}, DType::f32};
  Assemble fits{.shape = {4, 2}}, reads_beyond = fits, writes_beyond = fits;
  add_box(fits, {{{1, 4}, {0, 2}}});
  add_box(reads_beyond, {{{0, 4}, {0, 2}}});
  add_box(writes_beyond, {{{2, 5}, {0, 2}}});
  EXPECT_NO_THROW(signature(fits, std::vector{input}));
  EXPECT_THROW(signature(reads_beyond, std::vector{input}), Error);
  EXPECT_THROW(signature(writes_beyond, std::vector{input}), Error);
  EXPECT_THROW(signature(fits, std::vector{input, input}), Error);  // one box, two inputs
}

TEST(Assemble, APositionHasTheBeginsOfAllInputs) {
  Assemble op{.shape = {4, 2}};
  add_box(op, {{{0, 2}, {0, 2}}});
  add_box(op, {{{2, 3}, {0, 1}}});
  const std::vector<TensorSpec> inputs{{{5, 2}, DType::f32}, {{3, 4}, DType::f32}};
  Signature s = signature(op, inputs);
  EXPECT_EQ(position_of(Op(op), s, s.whole_tile()), (std::vector<std::int64_t>{0, 0, 0, 0}));
  using Position = std::vector<std::int64_t>;
  EXPECT_TRUE(contain_boxes(inputs, op, Position{3, 0, 2, 3}));
  for (const Position& beyond : {Position{4, 0, 0, 0}, Position{0, 1, 0, 0}, Position{0, 0, 3, 0},
                                 Position{0, 0, 0, 4}, Position{0, 0, -1, 0}})
    EXPECT_FALSE(contain_boxes(inputs, op, beyond));
  const Position within{3, 0, 2, 1};
  EXPECT_EQ(offset_of(begin_of(op, 0, within).in_input, inputs[0].shape), 6);
  EXPECT_EQ(offset_of(begin_of(op, 1, within).in_input, inputs[1].shape), 9);
  EXPECT_TRUE(begin_of(op, 1, within).in_y.empty());
}

/// Two rows and one below, of which the last input is the upper part.
Assemble rows_of_a_layer() {
  Assemble op{.shape = {3, 2}, .layered = true};
  add_box(op, {{{2, 3}, {0, 2}}});
  add_box(op, {{{0, 2}, {0, 2}}});
  return op;
}

TEST(Assemble, BeginsInYOfLayersAreNotInTheKey) {
  Assemble op = rows_of_a_layer();
  EXPECT_EQ(op.boxes, (std::vector<std::int64_t>{1, 2, 2, 2}));
  EXPECT_EQ(boxes_of(op), (std::vector<Region>{{{{0, 1}, {0, 2}}}, {{{0, 2}, {0, 2}}}}));
  AssemblePlan plan = plan_of(op);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_FALSE(plan.steps[0].combines || plan.steps[1].combines || plan.clears);
  const std::vector<TensorSpec> inputs{{{4, 2}, DType::f32}, {{2, 2}, DType::f32}};
  const std::vector<std::int64_t> position{3, 0, 2, 0, 0, 0, 0, 0};
  EXPECT_EQ(offset_of(begin_of(op, 0, position).in_input, inputs[0].shape), 6);
  EXPECT_EQ(offset_of(begin_of(op, 0, position).in_y, {3, 2}), 4);
  EXPECT_TRUE(contain_boxes(inputs, op, position));
  EXPECT_THROW(signature(Assemble{.shape = {3}, .boxes = {}, .layered = true}, inputs), Error);
}

TEST(Assemble, LayersMakeUpYAtTheRightPositionsOnly) {
  Assemble op = rows_of_a_layer();
  using Position = std::vector<std::int64_t>;
  EXPECT_TRUE(make_up_y(op, Position{0, 0, 2, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(make_up_y(op, Position{0, 0, 0, 0, 0, 0, 1, 0}));
  for (const Position& wrong :
       {Position{0, 0, 1, 0, 0, 0, 0, 0}, Position{0, 0, 3, 0, 0, 0, 0, 0},
        Position{0, 0, 2, 1, 0, 0, 0, 0}, Position{0, 0, 0, 0, 0, 0, -1, 0}})
    EXPECT_FALSE(make_up_y(op, wrong));
  op.boxes = {1, 2, 1, 2};  // a row is missing
  EXPECT_FALSE(make_up_y(op, Position{0, 0, 2, 0, 0, 0, 0, 0}));
}

TEST(Assemble, TheOriginOfALayerIsAPositionInWhichItMakesUpY) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random{.key = seed};
    Shape whole;
    std::vector<Region> parts{{}};
    // A grid of parts of any lengths.
    for (std::uint64_t dim = 0, next = 0; dim < 3; ++dim) {
      std::vector<Region> finer;
      std::int64_t begin = 0;
      for (std::uint64_t count = 1 + random.below(next++, 3); count > 0; --count) {
        Range range{begin, begin + 1 + static_cast<std::int64_t>(random.below(next++, 4))};
        for (Region part : parts) {
          part.ranges.push_back(range);
          finer.push_back(std::move(part));
        }
        begin = range.end;
      }
      whole.push_back(begin);
      parts = std::move(finer);
      std::ranges::rotate(parts, parts.begin() + std::ssize(parts) / 2);
    }
    Assemble op{.shape = {whole.begin(), whole.end()}, .layered = true};
    std::vector<TensorSpec> inputs;
    for (const Region& part : parts) {
      add_box(op, part);
      inputs.push_back({part.shape(), DType::f32});
    }
    Signature s = signature(op, inputs);
    EXPECT_TRUE(make_up_y(op, position_of(Op(op), s, s.whole_tile()))) << "seed " << seed;
  }
}

TEST(Assemble, LaterLayersAreCombinedWithTheFirst) {
  Assemble op = rows_of_a_layer();
  add_box(op, {{{0, 3}, {0, 2}}});
  AssemblePlan plan = plan_of(op);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_FALSE(plan.steps[0].combines || plan.steps[1].combines || plan.clears);
  EXPECT_TRUE(plan.steps[2].combines);
  using Position = std::vector<std::int64_t>;
  EXPECT_TRUE(make_up_y(op, Position{0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(make_up_y(op, Position{0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  add_box(op, {{{0, 2}, {0, 2}}});  // a row of the third layer is missing
  EXPECT_FALSE(make_up_y(op, Position{0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Assemble, PlacesBoxesOnceInTheRoomThereIs) {
  // The whole row is the first of the list, but the larger boxes come above it.
  std::vector<Shape> around{{1, 3}, {2, 2}, {2, 1}};
  EXPECT_EQ(place_boxes({3, 3}, around),
            (std::vector<Region>{{{{2, 3}, {0, 3}}}, {{{0, 2}, {0, 2}}}, {{{0, 2}, {2, 3}}}}));
  EXPECT_FALSE(place_boxes({3, 3}, std::vector<Shape>{{2, 2}, {2, 2}}));
  EXPECT_FALSE(place_boxes({3}, std::vector<Shape>{{2}, {2}}));
  // Two rows of parts of 3, 2 and 2: not both long ones in one row.
  EXPECT_TRUE(
      place_boxes({2, 7}, std::vector<Shape>{{1, 3}, {1, 3}, {1, 2}, {1, 2}, {1, 2}, {1, 2}}));
}

}  // namespace
}  // namespace troika
