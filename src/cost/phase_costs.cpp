#include "cost/phase_costs.h"

#include <algorithm>

#include "base/error.h"

namespace troika {

std::array<SentMessages, 2> messages_of(const CollectivePhase& phase, std::int64_t segment,
                                        Bytes element) {
  std::int64_t n = phase.elements;
  if (phase.is_signal) return {{{{}, phase.messages}, {}}};
  if (n == 0) return {};
  std::int64_t longest = std::min(n, segment > 0 ? segment : n);
  std::int64_t rest = n % longest;
  return {{{element * longest, n / longest * phase.messages},
           {element * rest, rest > 0 ? phase.messages : 0}}};
}

LinkKind slowest_link(const CollectiveCall& call, const CollectivePhases& phases,
                      const CollectivePhase& phase) {
  LinkKind kind = LinkKind::process;
  // A call without places is inside one process, so that no member has to be looked at.
  if (call.nodes.empty() && call.processes.empty()) return kind;
  for_each_send(phases, phase, [&](int from, int to) {
    kind = std::max(kind, link_between(call, from, to));
    return kind != LinkKind::network;
  });
  return kind;
}

SimTime work_of(const CollectivePhase& phase, LinkKind kind, Bytes element,
                const LinkCosts& costs) {
  Bytes worked = element * phase.worked;
  switch (phase.work) {
    case MemoryWork::none:
      return {};
    case MemoryWork::combine:
      return combine_time(costs[kind], worked);
    case MemoryWork::reduce:
      return reduce_time(costs.memory, worked);
    case MemoryWork::reduce_both:
      return reduce_both_time(costs.memory, worked);
    case MemoryWork::copy:
      return copy_time(costs.memory, worked);
  }
  throw Bug("unknown work");
}

}  // namespace troika
