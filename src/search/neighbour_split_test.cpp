#include "search/neighbour_split.h"

#include <gtest/gtest.h>

#include "search/testing/small_search.h"

namespace troika {
namespace {

Split split_behind(const Split& split, std::size_t from, std::size_t to) {
  Graph graph = parse_graph(kMixedModel);
  IndexedGraph index(graph);
  std::vector<std::vector<Neighbours>> all = find_neighbours(index);
  for (const Neighbours& pair : all[to])
    if (pair.from == from) return split_like_neighbour(index, pair, split);
  ADD_FAILURE() << "no neighbours";
  return {};
}

TEST(NeighbourSplit, CutsWhatTheNeighbourCuts) {
  // a: linear, relu behind it.
  EXPECT_EQ(split_behind({.factors = {{"n", 2, 1}}}, 0, 1).factors[0].axis, "n");
  Split columns = split_behind({.factors = {{"o", 4, 2}}, .first = 1}, 0, 1);
  ASSERT_EQ(columns.factors.size(), 1u);
  EXPECT_EQ(columns.factors[0].degree, 4);
  EXPECT_EQ(columns.factors[0].stride, 2);
  EXPECT_EQ(columns.first, 1);
  // The next layer reads columns along its reduced axis.
  EXPECT_EQ(split_behind(columns, 1, 2).factors[0].axis, "i");
}

TEST(NeighbourSplit, MakesCopiesOfWhatItDoesNotHave) {
  EXPECT_EQ(split_behind({.factors = {{"i", 2, 1}}}, 0, 1).factors[0].axis, "");
  // What the loss has no axis for, seen from behind.
  EXPECT_EQ(split_behind({.factors = {{"o", 2, 1}}}, 2, 1).factors[0].axis, "");
}

TEST(NeighbourSplit, FindsReadersAndWriters) {
  Graph graph = parse_graph(kMixedModel);
  IndexedGraph index(graph);
  std::vector<std::vector<Neighbours>> all = find_neighbours(index);
  ASSERT_EQ(all[1].size(), 2u);
  EXPECT_EQ(all[1][0].from, 0u);
  EXPECT_EQ(all[1][1].from, 2u);
}

}  // namespace
}  // namespace troika
