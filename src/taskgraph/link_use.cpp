#include "taskgraph/link_use.h"

#include <algorithm>
#include <map>
#include <set>

namespace troika {
namespace {

void add(const MessagePhases& phases, std::map<std::int32_t, LinkUse>& links) {
  for (const MessagePhase& phase : phases.phases) {
    for (std::int32_t at = phase.first_load; at < phase.first_load + phase.loads; ++at) {
      const LinkLoad& load = phases.loads[as_index(at)];
      LinkUse& use = links[load.link];
      use.link = load.link;
      use.bytes += load.bytes * phase.repeats;
      use.busy += load.time * phase.repeats;
    }
  }
}

}  // namespace

std::vector<LinkUse> link_use(const FoldedGraph& graph) {
  std::map<std::int32_t, LinkUse> links;
  std::set<FoldedCall> seen;  // each class of devices that takes part has a finish
  for (const std::vector<FoldedTask>& tasks : graph.tasks) {
    for (const FoldedTask& task : tasks) {
      if (task.kind != TaskKind::finish || task.phases.get() == nullptr) continue;
      if (seen.insert(task.call).second) add(*task.phases.get(), links);
    }
  }
  std::vector<LinkUse> all;
  for (const auto& [number, use] : links) all.push_back(use);
  std::ranges::stable_sort(all, std::greater{}, &LinkUse::busy);
  return all;
}

}  // namespace troika
