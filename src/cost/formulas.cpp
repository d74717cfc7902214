#include "cost/formulas.h"

#include <algorithm>

#include "cost/phase_costs.h"

namespace troika {

// Phases follow each other on the critical path. In a phase all members exchange at once, so it
// takes as long as its slowest message: alpha + n beta, alpha once for each segment.
SimTime formula_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                     const LinkCosts& costs) {
  CollectivePhases phases = phases_of(call, algorithm);
  SimTime time{};
  for (const CollectivePhase& phase : phases.phases) {
    LinkKind kind = slowest_link(call, phases, phase);
    SimTime message{};
    for (const SentMessages& sent : messages_of(phase, call.segment, element))
      if (sent.count > 0) message += message_time(costs[kind], sent.bytes) * sent.count;
    SimTime work = work_of(phase, kind, element, costs);
    time += (phase.hides_work ? std::max(message, work) : message + work) * phase.repeats;
  }
  return time;
}

}  // namespace troika
