#include "lower/fuse.h"

#include <algorithm>
#include <optional>

namespace troika {
namespace {

constexpr std::size_t kLongest = 4;

template <class... Kinds>
bool is_one_of(const Op& op) {
  return (std::holds_alternative<Kinds>(op) || ...);
}

bool can_lead(const Op& op) { return !is_one_of<Sum, Reorder, Assemble>(op); }

bool can_follow(const Op& op) { return is_one_of<Bias, Activation, Binary, Dropout>(op); }

class ChainFinder {
 public:
  explicit ChainFinder(const TaskGraph& graph)
      : graph_(graph), users_(graph.buffers.size()), viewed_(graph.buffers.size()) {
    for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
      for (const BufferUse& use : graph.tasks[at].uses) users_[use.buffer.index()].push_back(at);
    }
    for (const BufferSpec& buffer : graph.buffers)
      if (buffer.view_of.valid()) viewed_[buffer.view_of.index()] = true;
  }

  std::vector<FusedChain> find() const {
    std::vector<FusedChain> chains;
    for (std::size_t start = 0; start < graph_.tasks.size(); ++start) {
      const KernelKey& key = graph_.tasks[start].key;
      if (!graph_.tasks[start].computes()) continue;
      if (key.phase == Phase::forward && can_lead(key.op)) find_forward(start, chains);
      if (auto chain = activation_before(start)) chains.push_back(*chain);
    }
    return chains;
  }

 private:
  void find_forward(std::size_t start, std::vector<FusedChain>& chains) const {
    const Task& task = graph_.tasks[start];
    FusedChain chain{{start}, task.key, task.uses, task.position};
    int output = output_operand(task.key);
    if (output < 0) return;
    // The output stands last, also where the operator writes other things behind it.
    std::ranges::rotate(chain.uses.begin() + output, chain.uses.begin() + output + 1,
                        chain.uses.end());
    std::vector<FusedChain> prefixes;
    while (chain.tasks.size() < kLongest && extend(chain)) prefixes.push_back(chain);
    chains.insert(chains.end(), prefixes.rbegin(), prefixes.rend());
  }

  /// Adds the task that alone reads the chain's last value; false when there is none. What it reads
  /// besides must exist by then, so the fused task will stand where this one stood.
  bool extend(FusedChain& chain) const {
    BufferId value = chain.uses.back().buffer;
    std::optional<std::size_t> reader = only_reader(value);
    if (!reader) return false;
    const Task& next = graph_.tasks[*reader];
    if (!next.computes() || next.key.phase != Phase::forward || !can_follow(next.key.op))
      return false;
    if (next.device != graph_.tasks[chain.tasks[0]].device) return false;
    if (!can_move(chain, *reader)) return false;
    // Of two equal operands the order does not matter: both functions commute.
    std::size_t taken = next.uses[0].buffer == value ? 0 : 1;
    const TensorSpec& spec = graph_[value].spec;
    bool keeps_shape = graph_[next.uses.back().buffer].spec == spec;
    if (!keeps_shape || next.key.inputs[taken] != spec) return false;
    FusedOp behind{next.key.op, next.key.inputs};
    behind.others.erase(behind.others.begin() + static_cast<std::ptrdiff_t>(taken));
    chain.uses.pop_back();
    for (std::size_t at = 0; at < next.uses.size(); ++at) {
      if (at != taken) chain.uses.push_back(next.uses[at]);
    }
    chain.position.insert(chain.position.end(), next.position.begin(), next.position.end());
    chain.tasks.push_back(*reader);
    chain.key.fused.push_back(std::move(behind));
    return true;
  }

  /// A backward task whose dy is the gradient of an activation that nobody else reads.
  std::optional<FusedChain> activation_before(std::size_t at) const {
    const Task& task = graph_.tasks[at];
    if (!is_one_of<BatchNorm>(task.key.op) || task.key.phase != Phase::backward) return {};
    auto dy = static_cast<std::size_t>(output_gradient(task.key));
    BufferId value = task.uses[dy].buffer;
    if (only_reader(value) != at) return {};
    std::size_t before = users_[value.index()][0];
    const Task& first = graph_.tasks[before];
    const Activation* activation = std::get_if<Activation>(&first.key.op);
    if (!first.computes() || activation == nullptr || !backward_reads_output(activation->kind))
      return {};
    if (first.device != task.device || !can_move({{before}, first.key, first.uses, {}}, at))
      return {};
    // Neither operator has a position.
    FusedChain chain{{before, at}, task.key, task.uses, {}};
    chain.key.fused.push_back({*activation, {}});
    chain.uses[dy].buffer = first.uses[0].buffer;
    auto written = std::ranges::find_if(
        chain.uses, [](const BufferUse& use) { return use.access != Access::read; });
    chain.uses.insert(written, first.uses[1]);
    return chain;
  }

  /// Whether the chain may run at the place of task `to`: no task in between reads what it writes
  /// or writes what it reads.
  bool can_move(const FusedChain& chain, std::size_t to) const {
    auto is_in_the_way = [&](const BufferUse& use, std::size_t task) {
      bool between = task > chain.tasks[0] && task < to &&
                     std::ranges::find(chain.tasks, task) == chain.tasks.end();
      return between && (use.access != Access::read || writes(graph_.tasks[task], use.buffer));
    };
    return std::ranges::none_of(chain.uses, [&](const BufferUse& use) {
      return std::ranges::any_of(users_[use.buffer.index()],
                                 [&](std::size_t task) { return is_in_the_way(use, task); });
    });
  }

  static bool writes(const Task& task, BufferId buffer) {
    return std::ranges::any_of(task.uses, [&](const BufferUse& use) {
      return use.buffer == buffer && use.access != Access::read;
    });
  }

  std::optional<std::size_t> only_reader(BufferId value) const {
    const std::vector<std::size_t>& users = users_[value.index()];
    // A view is a use that outlasts the value itself.
    bool stays = graph_[value].held || graph_[value].persistent || viewed_[value.index()];
    if (stays || users.size() != 2) return {};
    return users[1];
  }

  const TaskGraph& graph_;
  std::vector<std::vector<std::size_t>> users_;  // tasks that touch each buffer
  std::vector<bool> viewed_;                     // by another buffer
};

class Savings {
 public:
  Savings(const TaskGraph& graph, const Machine& machine, const KernelTable& table)
      : graph_(graph), machine_(machine), table_(table) {}

  /// What the fused kernel saves; empty when there is none or it would lose.
  std::optional<SimTime> of(const FusedChain& chain) const {
    const std::string& kind = machine_[graph_.tasks[chain.tasks.front()].device].kind;
    std::optional<SimTime> fused = best_time(kind, chain.key);
    if (!fused) return {};
    SimTime apart{0};
    for (std::size_t at : chain.tasks)
      apart += best_time(kind, graph_.tasks[at].key).value_or(SimTime{0});
    return apart >= *fused ? std::optional(apart - *fused) : std::nullopt;
  }

 private:
  /// Of the fastest candidate; zero where nothing was measured.
  std::optional<SimTime> best_time(const std::string& kind, const KernelKey& key) const {
    const std::vector<Candidate>* candidates = table_.find(kind, key);
    if (candidates == nullptr || candidates->empty()) return {};
    auto time = [](const Candidate& candidate) { return candidate.time.value_or(SimTime{0}); };
    return time(*std::ranges::min_element(*candidates, {}, time));
  }

  const TaskGraph& graph_;
  const Machine& machine_;
  const KernelTable& table_;
};

void replace(TaskGraph& graph, const FusedChain& chain) {
  Task& last = graph.tasks[chain.tasks.back()];
  bool backward = chain.key.phase != Phase::forward;
  const Task& named = backward ? last : graph.tasks[chain.tasks.front()];
  last.id = named.id;
  last.name = named.name + " +" + std::to_string(chain.tasks.size() - 1);
  last.key = chain.key;
  last.uses = chain.uses;
  last.position = chain.position;
}

}  // namespace

std::vector<FusedChain> find_chains(const TaskGraph& graph) { return ChainFinder(graph).find(); }

std::vector<FusedChain> fuse(TaskGraph& graph, const Machine& machine, const KernelTable& table) {
  std::vector<FusedChain> fused;
  std::vector<bool> gone(graph.tasks.size()), taken(graph.tasks.size());
  std::vector<FusedChain> chains = find_chains(graph);
  const Savings savings(graph, machine, table);
  for (std::size_t at = 0; at < chains.size();) {
    const FusedChain* best = nullptr;
    SimTime most{0};
    std::size_t start = chains[at].tasks.front();
    for (; at < chains.size() && chains[at].tasks.front() == start; ++at) {
      bool free = std::ranges::none_of(chains[at].tasks, [&](std::size_t t) { return taken[t]; });
      std::optional<SimTime> saved = free ? savings.of(chains[at]) : std::nullopt;
      if (saved && (best == nullptr || *saved > most)) best = &chains[at], most = *saved;
    }
    if (best == nullptr) continue;
    for (std::size_t t : best->tasks) taken[t] = true, gone[t] = t != best->tasks.back();
    replace(graph, *best);
    fused.push_back(*best);
  }
  std::vector<Task> left;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    if (!gone[at]) left.push_back(std::move(graph.tasks[at]));
  }
  graph.tasks = std::move(left);
  return fused;
}

}  // namespace troika
