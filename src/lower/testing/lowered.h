// For tests: a small model, and its task graph with made-up kernels.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/text.h"
#include "lower/lower.h"

namespace troika {

// Two layers with a residual sum, so that a gradient fans out and is summed.
inline constexpr const char* kModel = R"(graph tiny
input x f32[8,4]
input target i32[8]
input weight f32[8]
parameter a.weight f32[4,4] uniform 0.5
parameter a.bias f32[4] zeros
parameter b.weight f32[3,4] uniform 0.5
operator a linear{out=4} (x) [a.weight] -> a
operator a.bias bias{} (a) [a.bias] -> h
operator relu activation{} (h) [] -> r
operator add binary{} (r h) [] -> s
operator b linear{out=3} (s) [b.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

/// Answers every key like a backend of plain loops; optionally fuses and works in place.
struct FakeKernels {
  bool fuses = false;
  SimTime fused_time{1000};
  bool in_place = false;
  bool slow_first = false;  // each row begins with a kernel that takes longer
  std::map<std::string, std::vector<Layout>> wants{};  // operator → layouts of its operands
  bool measured = true;      // else times follow from the rates of devices
  bool two_kernels = false;  // one plain, one for other layouts; times by a hash of the key
  /// Changes the candidates of a key; fused chains keep theirs.
  std::function<void(const KernelKey&, std::vector<Candidate>&)> revise{};

  KernelTable answer(const std::vector<KernelRequest>& rows, KernelTable table = {}) const {
    for (const KernelRequest& row : rows) {
      const KernelKey& key = row.key;
      Candidate candidate{
          .algorithm = "fake", .flat = key.phase == Phase::update, .time = SimTime{1000}};
      candidate.layouts.resize(operands_of(key).size(), Layout::plain);
      auto wanted = wants.find(std::string(name_of(key.op)));
      if (wanted != wants.end() && wanted->second.size() == candidate.layouts.size())
        candidate.layouts = wanted->second;
      if (const auto* reorder = std::get_if<Reorder>(&key.op))
        candidate.layouts = {reorder->from, reorder->to};
      bool is_elementwise =
          std::holds_alternative<Activation>(key.op) || std::holds_alternative<Binary>(key.op);
      if (in_place && is_elementwise)
        candidate.in_place = {{static_cast<int>(candidate.layouts.size()) - 1, 0}};
      if (!key.fused.empty()) candidate.time = fused_time;
      if (!measured) candidate.time.reset();
      if (revise && key.fused.empty()) {
        std::vector<Candidate> revised{candidate};
        revise(key, revised);
        table.insert(row, std::move(revised));
        continue;
      }
      if (two_kernels && (key.fused.empty() || fuses)) {
        table.insert(row, two_of(key, candidate));
        continue;
      }
      Candidate slow = candidate;
      slow.algorithm = "slow", slow.time = SimTime{2000};
      if (key.fused.empty() || fuses)
        table.insert(row, slow_first ? std::vector{slow, candidate} : std::vector{candidate});
      else
        table.insert(row, {});
    }
    return table;
  }

  /// Which of the two is quicker depends on the key, and so do the reorders between them.
  static std::vector<Candidate> two_of(const KernelKey& key, Candidate plain) {
    std::uint64_t code = hash(key);
    auto drawn = [&](int bit) { return static_cast<std::int64_t>((code >> bit) % 1024); };
    bool sums = std::holds_alternative<Sum>(key.op) || std::holds_alternative<SquareSum>(key.op);
    plain.flat = plain.flat || sums;
    plain.time = SimTime{500 + drawn(0)};
    bool reorders = std::holds_alternative<Reorder>(key.op);
    if (reorders) plain.time = SimTime{100 + drawn(0) / 4};
    if (plain.flat || reorders || std::holds_alternative<Assemble>(key.op)) return {plain};
    Candidate other = plain;
    other.algorithm = "other";
    other.time = SimTime{500 + drawn(10)};
    std::vector<Operand> operands = operands_of(key);
    for (std::size_t at = 0; at < operands.size(); ++at) {
      if (drawn(20 + static_cast<int>(at)) % 4 == 0) continue;
      std::size_t rank = operands[at].spec.shape.rank();
      if (rank == 2) other.layouts[at] = Layout::transposed;
      if (rank == 4) other.layouts[at] = Layout::channels_last;
    }
    return {plain, other};
  }
};

struct Lowered {
  Graph graph = parse_graph(kModel);
  Strategy strategy = Strategy::single();
  Machine machine{{{.name = "cpu0"}}};
  OptimizerSpec optimizer{
      .rules = {{"a.weight", Sgd{}}, {"a.bias", Sgd{}}, {"b.weight", Sgd{.momentum = 0.9}}}};
  FakeKernels kernels;

  LowerRequest request() {
    return {.graph = &graph,
            .strategy = &strategy,
            .machine = &machine,
            .optimizer = &optimizer,
            .outputs = {"logits"}};
  }
  /// A program without a loss that holds these outputs.
  TaskGraph forward(const std::vector<std::string>& outputs) {
    LowerRequest asked = request();
    asked.optimizer = nullptr;
    asked.outputs = outputs;
    return run(asked);
  }
  TaskGraph run() { return run(request()); }
  TaskGraph run(const LowerRequest& asked) const {
    KernelTable table = kernels.answer(rows_needed(asked));
    LowerResult result = lower(asked, table);
    // Layouts decide about reorders, which need rows of their own.
    while (auto* missing = std::get_if<MissingRows>(&result)) {
      table = kernels.answer(missing->rows, table);
      result = lower(asked, table);
    }
    return std::get<TaskGraph>(result);
  }
};

/// The same on several devices, under the strategy that `make` gives.
struct OnDevices : Lowered {
  OnDevices(std::size_t devices,
            const std::function<Strategy(const Graph&, const Machine&)>& make) {
    machine.devices.resize(devices);
    strategy = make(graph, machine);
  }
};

inline std::vector<std::string> names(const TaskGraph& graph) {
  std::vector<std::string> all;
  for (const Task& task : graph.tasks) all.push_back(task.name);
  return all;
}

inline bool writes(const TaskGraph& graph, const std::string& name) {
  auto is_written = [&](const BufferUse& use) {
    return use.access != Access::read && graph[use.buffer].name == name;
  };
  return std::ranges::any_of(
      graph.tasks, [&](const Task& task) { return std::ranges::any_of(task.uses, is_written); });
}

}  // namespace troika
