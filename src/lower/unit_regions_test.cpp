#include "lower/unit_regions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/testing/lowered.h"

namespace troika {
namespace {

/// Lines of a graph: so many activations one behind the other, from a tensor to the last one.
std::string run_of(const std::string& name, const std::string& from, int count) {
  std::string lines, last = from;
  for (int at = 0; at < count; ++at) {
    std::string next = fmt::format("{}{}", name, at);
    lines += fmt::format("operator {} activation{{}} ({}) [] -> {}\n", next, last, next);
    last = next;
  }
  return lines;
}

std::int32_t number_of(const Graph& graph, const std::string& tensor) {
  return find_tensor(graph, tensor).value;
}

const RegionBorder& border_of(const UnitRegions& regions, std::int32_t tensor) {
  for (const RegionBorder& border : regions.borders)
    if (std::ranges::count(border.tensors, tensor) > 0) return border;
  throw Bug("a tensor that is no border");
}

/// One kernel writes the gradients of all that is joined, so it has a say in their layouts.
TEST(UnitRegions, WhatOneKernelWritesIsDecidedTogether) {
  Graph graph = parse_graph("graph joined\ninput x f32[8,4]\n" + run_of("a", "x", 25) +
                            run_of("b", "x", 25) + run_of("c", "x", 25) +
                            "operator all concat{dim=1} (a24 b24 c24) [] -> all\noutput all all\n");
  UnitRegions regions = find_regions(IndexedGraph(graph));
  EXPECT_EQ(&border_of(regions, number_of(graph, "a24")),
            &border_of(regions, number_of(graph, "b24")));
}

/// The gradient of a bias is a view, so through a region of biases one memory is two borders.
TEST(UnitRegions, BordersThatViewsJoinLiePlain) {
  std::string lines = "graph views\ninput x f32[8,4,2,2]\nparameter p f32[4] zeros\n";
  std::string last = "x";
  for (int at = 0; at < 45; ++at) {
    lines += fmt::format("operator b{0} bias{{dim=1}} ({1}) [p] -> b{0}\n", at, last);
    last = fmt::format("b{}", at);
  }
  Graph graph = parse_graph(lines + "output y " + last + "\n");
  UnitRegions regions = find_regions(IndexedGraph(graph));
  std::size_t tensors = 0;
  for (const RegionBorder& border : regions.borders) {
    if (border.tensors.empty()) continue;
    ++tensors;
    EXPECT_TRUE(border.is_plain);
  }
  EXPECT_EQ(tensors, 2u);
}

TEST(UnitRegions, BordersThatKernelsSeparateNeedNotLiePlain) {
  Graph graph =
      parse_graph("graph run\ninput x f32[8,4,2,2]\n" + run_of("a", "x", 45) + "output y a44\n");
  UnitRegions regions = find_regions(IndexedGraph(graph));
  EXPECT_EQ(regions.borders.size(), 2u);
  EXPECT_TRUE(std::ranges::none_of(regions.borders, &RegionBorder::is_plain));
}

TEST(UnitRegions, AValueThatAnotherRegionReadsIsNotFusedAway) {
  Lowered lowered;
  lowered.kernels.fuses = true;
  lowered.graph = parse_graph(R"(graph far
input x f32[8,4]
parameter a.weight f32[4,4] zeros
parameter a.bias f32[4] zeros
operator a linear{out=4} (x) [a.weight] -> a
operator a.bias bias{} (a) [a.bias] -> h
)" + run_of("r", "h", 45) + "operator add binary{} (r44 a) [] -> s\noutput s s\n");
  EXPECT_NE(find_regions(IndexedGraph(lowered.graph)).of.front(),
            find_regions(IndexedGraph(lowered.graph)).of.back());
  EXPECT_TRUE(writes(lowered.forward({"s"}), "a"));
}

}  // namespace
}  // namespace troika
