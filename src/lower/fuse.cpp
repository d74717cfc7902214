#include "lower/fuse.h"

#include <algorithm>

namespace troika {
namespace {

constexpr std::size_t kLongest = 4;

bool can_lead(const Op& op) {
  return !std::holds_alternative<Sum>(op) && !std::holds_alternative<Reorder>(op);
}

bool can_follow(const Op& op) {
  return std::holds_alternative<Bias>(op) || std::holds_alternative<Activation>(op) ||
         std::holds_alternative<Binary>(op);
}

/// Tasks that touch each buffer.
std::vector<std::vector<std::size_t>> find_users(const TaskGraph& graph) {
  std::vector<std::vector<std::size_t>> users(graph.buffers.size());
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    for (const BufferUse& use : graph.tasks[at].uses) users[use.buffer.index()].push_back(at);
  }
  // A view is a use that outlasts the value itself.
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    BufferId of = graph.buffers[at].view_of;
    if (of.valid()) users[of.index()].resize(users[of.index()].size() + 2);
  }
  return users;
}

/// The only value a forward task writes, or an invalid id.
BufferId only_output(const Task& task) {
  BufferId output;
  for (const BufferUse& use : task.uses) {
    if (use.access == Access::read) continue;
    if (output.valid() || use.access == Access::update) return {};
    output = use.buffer;
  }
  return output;
}

/// The task that alone reads this value as its first operand, directly usable behind the chain; or
/// no task.
std::size_t follower(const TaskGraph& graph, const std::vector<std::vector<std::size_t>>& users,
                     BufferId value) {
  if (!value.valid() || graph[value].held || graph[value].persistent ||
      users[value.index()].size() != 2)
    return 0;
  std::size_t next = users[value.index()][1];
  const Task& task = graph.tasks[next];
  bool first =
      task.uses[0].buffer == value && task.key.phase == Phase::forward && can_follow(task.key.op);
  return first && task.key.inputs[0] == graph[only_output(task)].spec ? next : 0;
}

void extend(KernelKey& key, const Task& next) {
  key.fused.push_back({next.key.op, {next.key.inputs.begin() + 1, next.key.inputs.end()}});
}

/// Reads of all, without the values in between, and the last one's output. What the later tasks
/// read must exist by then, so the fused task stands where the last one stood.
std::vector<BufferUse> fused_uses(const TaskGraph& graph, const std::vector<std::size_t>& chain) {
  std::vector<BufferUse> uses;
  for (std::size_t at = 0; at < chain.size(); ++at) {
    for (std::size_t use = 0; use < graph.tasks[chain[at]].uses.size(); ++use) {
      const BufferUse& used = graph.tasks[chain[at]].uses[use];
      bool between =
          (at > 0 && use == 0) || (at + 1 < chain.size() && used.access == Access::write);
      if (!between) uses.push_back(used);
    }
  }
  return uses;
}

}  // namespace

std::vector<FusedChain> find_chains(const TaskGraph& graph) {
  auto users = find_users(graph);
  std::vector<FusedChain> chains;
  for (std::size_t start = 0; start < graph.tasks.size(); ++start) {
    const Task& task = graph.tasks[start];
    if (task.key.phase != Phase::forward || !can_lead(task.key.op)) continue;
    FusedChain chain{{start}, task.key};
    std::vector<FusedChain> prefixes;
    while (chain.tasks.size() < kLongest) {
      std::size_t next = follower(graph, users, only_output(graph.tasks[chain.tasks.back()]));
      if (next == 0) break;
      chain.tasks.push_back(next);
      extend(chain.key, graph.tasks[next]);
      prefixes.push_back(chain);
    }
    chains.insert(chains.end(), prefixes.rbegin(), prefixes.rend());
  }
  return chains;
}

void fuse(TaskGraph& graph, const KernelTable& table) {
  std::vector<bool> gone(graph.tasks.size()), taken(graph.tasks.size());
  for (const FusedChain& chain : find_chains(graph)) {
    const std::vector<Candidate>* candidates = table.find(chain.key);
    bool free = std::ranges::none_of(chain.tasks, [&](std::size_t at) { return taken[at]; });
    if (!free || candidates == nullptr || candidates->empty()) continue;
    Task& last = graph.tasks[chain.tasks.back()];
    std::vector<BufferUse> uses = fused_uses(graph, chain.tasks);
    const Task& first = graph.tasks[chain.tasks.front()];
    last.id = first.id;
    last.name = first.name + " +" + std::to_string(chain.tasks.size() - 1);
    last.key = chain.key;
    last.uses = uses;
    for (std::size_t at : chain.tasks) taken[at] = true, gone[at] = at != chain.tasks.back();
  }
  std::vector<Task> left;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    if (!gone[at]) left.push_back(std::move(graph.tasks[at]));
  }
  graph.tasks = std::move(left);
}

}  // namespace troika
