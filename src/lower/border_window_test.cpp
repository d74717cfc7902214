#include "lower/border_window.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

/// x -> pool -> v -> relu -> y. Both come from and go to other regions; y is the border.
struct Window {
  static constexpr Layout kPlain = Layout::plain, kBlocked = Layout::blocked16;

  Window() {
    graph.buffers.assign(3, {.spec = spec});
    graph.from_outside = {0};
    graph.to_outside = {2};
    graph.buffers[2].stays = true;
    graph.written = {{.value = 0, .buffer = 1}, {.value = 1, .buffer = 2}};
    add(Pool2d{}, 0);
    add(Activation{}, 1);
  }

  void offer(const KernelKey& key, std::vector<Candidate> row) {
    table.of("").insert(key, std::move(row));
  }
  Layout decide() {
    EXPECT_TRUE(find_rows(graph, machine, table));
    BorderLayouts borders{{}, {kPlain}};
    BorderWindow(graph, machine, table).decide({1}, borders);
    return borders[1][0];
  }
  static Candidate kernel(Layout layout, std::int64_t nanoseconds) {
    return {.algorithm = "k", .layouts = {layout, layout}, .time = SimTime{nanoseconds}};
  }

  TensorSpec spec{{2, 16, 4, 4}, DType::f32};
  UnitGraph graph;
  KernelTable table;
  Machine machine{{{.name = "device"}}};

 private:
  void add(const Op& op, std::int32_t from) {
    graph.units.push_back({.job = from,
                           .device = DeviceId(0u),
                           .key = {op, {spec}, Phase::forward, {}},
                           .uses = {{from, Access::read}, {from + 1, Access::write}},
                           .output = 1});
  }
};

TEST(BorderWindow, ABorderLiesAsTheKernelsAroundItRunFastest) {
  for (Layout faster : {Window::kPlain, Window::kBlocked}) {
    Window window;
    window.offer(window.graph.units[0].key,
                 {window.kernel(Window::kPlain, faster == Window::kPlain ? 5 : 9),
                  window.kernel(Window::kBlocked, 7)});
    window.offer(window.graph.units[1].key, {{.algorithm = "k",
                                              .layouts = {Window::kPlain, Window::kPlain},
                                              .flat = true,
                                              .time = SimTime{1}}});
    EXPECT_EQ(window.decide(), faster);
  }
}

/// A region may fuse less than the window, so the unit by itself must have such a kernel too.
TEST(BorderWindow, ABorderDoesNotLieAsOnlyAFusedKernelCanWriteIt) {
  Window window;
  window.offer(window.graph.units[0].key, {window.kernel(Window::kPlain, 9)});
  window.offer(window.graph.units[1].key, {window.kernel(Window::kPlain, 9)});
  KernelKey fused = window.graph.units[0].key;
  fused.fused.push_back({window.graph.units[1].key.op, {}});
  window.offer(fused, {window.kernel(Window::kBlocked, 1)});
  EXPECT_EQ(window.decide(), Window::kPlain);
}

}  // namespace
}  // namespace troika
