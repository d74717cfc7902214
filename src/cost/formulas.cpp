#include "cost/formulas.h"

#include <algorithm>

#include "base/error.h"
#include "collective/phases.h"

namespace troika {
namespace {

/// The slowest kind of link that a message of the phase crosses.
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

/// alpha + n beta, alpha once for each segment: full ones and a shorter last one. Each counts by
/// itself, because measured times are not linear in n.
SimTime message_of(const LinkCost& link, const CollectivePhase& phase, std::int64_t segment,
                   Bytes element) {
  std::int64_t n = phase.elements;
  if (phase.is_signal) return message_time(link, {});
  if (n == 0) return {};
  std::int64_t longest = std::min(n, segment > 0 ? segment : n);
  SimTime rest = n % longest == 0 ? SimTime{} : message_time(link, element * (n % longest));
  return message_time(link, element * longest) * (n / longest) + rest;
}

SimTime work_of(const LinkCost& link, const MemoryCost& memory, const CollectivePhase& phase,
                Bytes element) {
  Bytes worked = element * phase.worked;
  switch (phase.work) {
    case MemoryWork::none:
      return {};
    case MemoryWork::combine:
      return combine_time(link, worked);
    case MemoryWork::reduce:
      return reduce_time(memory, worked);
    case MemoryWork::reduce_both:
      return reduce_both_time(memory, worked);
    case MemoryWork::copy:
      return copy_time(memory, worked);
  }
  throw Bug("unknown work");
}

}  // namespace

// Phases follow each other on the critical path. In a phase all members exchange at once, so it
// takes as long as its slowest message.
SimTime formula_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                     const LinkCosts& costs) {
  CollectivePhases phases = phases_of(call, algorithm);
  SimTime time{};
  for (const CollectivePhase& phase : phases.phases) {
    const LinkCost& link = costs[slowest_link(call, phases, phase)];
    SimTime message = message_of(link, phase, call.segment, element) * phase.messages;
    SimTime work = work_of(link, costs.memory, phase, element);
    time += (phase.hides_work ? std::max(message, work) : message + work) * phase.repeats;
  }
  return time;
}

}  // namespace troika
