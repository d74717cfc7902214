#include "cost/message_phases.h"

#include <algorithm>

#include "base/error.h"
#include "cost/phase_costs.h"

namespace troika {
namespace {

/// Equal phases are simulated as at most so many, each for several of them: an event each is too
/// much for rings of thousands. Other messages still overtake within a phase, at its chunk borders.
constexpr std::int64_t kMostRepeats = 4;

/// A phase of a collective: its messages, then its work, unless these overlap.
struct Step {
  std::vector<LinkLoad> loads;
  SimTime latency{}, work{};
  bool hides_work = false;
  std::int64_t repeats = 1;

  bool is_same_step(const Step& other) const {
    return loads == other.loads && latency == other.latency && work == other.work &&
           hides_work == other.hides_work;
  }
  SimTime longest_load() const {
    SimTime longest{};
    for (const LinkLoad& load : loads) longest = std::max(longest, load.time);
    return longest;
  }
};

class PhaseWriter {
 public:
  MessagePhases take() {
    // A message that does nothing still has a phase.
    if (made_.phases.empty()) made_.phases.emplace_back();
    return std::move(made_);
  }

  /// In few phases that are as equal as they can be.
  void write(const Step& step) {
    std::int64_t parts = std::min(step.repeats, kMostRepeats);
    std::int64_t each = step.repeats / parts, longer = step.repeats % parts;
    write_parts(step, each + 1, longer);
    write_parts(step, each, parts - longer);
  }

 private:
  void write_parts(const Step& step, std::int64_t of, std::int64_t parts) {
    if (parts == 0) return;
    if (step.hides_work) {
      // Work that takes longer than the links are busy hides the latency too.
      SimTime longest = step.longest_load();
      SimTime rest = longest + step.latency - std::max(longest, step.work);
      return add({step.loads, std::max(SimTime{}, rest), step.work}, of, parts);
    }
    Step messages{step.loads, step.latency}, work{.work = step.work};
    if (step.work == SimTime{}) return add(messages, of, parts);
    for (std::int64_t part = 0; part < parts; ++part) {
      add(messages, of, 1);
      add(work, of, 1);
    }
  }

  void add(const Step& step, std::int64_t of, std::int64_t repeats) {
    if (step.loads.empty() && step.latency == SimTime{} && step.work == SimTime{}) return;
    made_.phases.push_back({.first_load = static_cast<std::int32_t>(made_.loads.size()),
                            .loads = static_cast<std::int32_t>(step.loads.size()),
                            .work = step.work * of,
                            .latency = step.latency * of,
                            .repeats = static_cast<std::int32_t>(repeats)});
    for (const LinkLoad& load : step.loads)
      made_.loads.push_back({load.link, load.time * of, load.bytes * of});
  }

  MessagePhases made_;
};

Step make_step(const PhaseCosts& costs, const Placement& placement, const ChosenCall& chosen,
               const CollectivePhase& phase, const PhaseTraffic& traffic) {
  Step step{.work = work_of(phase, traffic.kind, chosen.element, costs.links),
            .hides_work = phase.hides_work,
            .repeats = phase.repeats};
  std::array<SentMessages, 2> all = messages_of(phase, chosen.call.segment, chosen.element);
  for (const SentMessages& sent : all) {
    if (sent.count == 0) continue;
    // Inside a computer without links messages are nothing but time.
    step.latency += (traffic.crossed.empty() ? message_time(costs.links[traffic.kind], sent.bytes)
                                             : traffic.latency) *
                    sent.count;
  }
  for (const PhaseTraffic::Crossed& crossed : traffic.crossed) {
    std::int32_t speed = placement.groups[as_index(crossed.group)].speed;
    LinkLoad load{.link = crossed.group};
    for (const SentMessages& sent : all) {
      if (sent.count == 0) continue;
      load.time += costs.network.occupied(speed, sent.bytes) * (sent.count * crossed.messages);
      load.bytes += sent.bytes * (sent.count * crossed.messages);
    }
    if (load.time > SimTime{}) step.loads.push_back(load);
  }
  return step;
}

/// The steps together, so that no load takes longer than the whole, and the whole as long as it was
/// measured.
Step join(const std::vector<Step>& steps, SimTime measured) {
  Step joined;
  for (const Step& step : steps) {
    for (const LinkLoad& load : step.loads) {
      auto known = std::ranges::find(joined.loads, load.link, &LinkLoad::link);
      if (known == joined.loads.end()) known = joined.loads.insert(known, {load.link, {}, {}});
      known->bytes += load.bytes * step.repeats;
      known->time = std::min(measured, known->time + load.time * step.repeats);
    }
  }
  joined.latency = measured - joined.longest_load();
  return joined;
}

}  // namespace

MessagePhases phases_on_groups(const PhaseCosts& costs, Placement& placement,
                               const ChosenCall& chosen) {
  CollectivePhases phases = phases_of(chosen.call, chosen.algorithm);
  std::vector<Step> steps;
  for (const CollectivePhase& phase : phases.phases) {
    const PhaseTraffic& traffic =
        costs.placements.traffic(placement, {chosen.call, chosen.algorithm, phases, phase});
    Step step = make_step(costs, placement, chosen, phase, traffic);
    if (!steps.empty() && steps.back().is_same_step(step))
      steps.back().repeats += step.repeats;
    else
      steps.push_back(std::move(step));
  }
  PhaseWriter writer;
  if (chosen.measured)
    writer.write(join(steps, *chosen.measured));
  else
    for (const Step& step : steps) writer.write(step);
  return writer.take();
}

MessagePhases phases_on_links(const MessagePhases& on_groups,
                              std::span<const std::vector<LinkShare>> shares) {
  MessagePhases made{.phases = on_groups.phases};
  std::vector<LinkLoad> loads;
  for (MessagePhase& phase : made.phases) {
    loads.clear();
    auto own =
        std::span(on_groups.loads).subspan(as_index(phase.first_load), as_index(phase.loads));
    for (const LinkLoad& load : own)
      for (const LinkShare& share : shares[as_index(load.link)])
        loads.push_back({share.link, load.time * share.times, load.bytes * share.times});
    // Several groups may share a link that stands for others.
    std::ranges::sort(loads, {}, &LinkLoad::link);
    phase.first_load = static_cast<std::int32_t>(made.loads.size());
    for (const LinkLoad& load : loads) {
      bool is_new =
          std::ssize(made.loads) == phase.first_load || made.loads.back().link != load.link;
      if (is_new) {
        made.loads.push_back(load);
        continue;
      }
      made.loads.back().time += load.time;
      made.loads.back().bytes += load.bytes;
    }
    phase.loads = static_cast<std::int32_t>(made.loads.size()) - phase.first_load;
  }
  return made;
}

std::vector<std::vector<LinkShare>> all_links(const Placement& placement) {
  std::vector<std::vector<LinkShare>> all;
  for (const LinkGroup& group : placement.groups) {
    all.emplace_back();
    for (std::int32_t link : group.links) all.back().push_back({link, 1});
  }
  return all;
}

MessagePhases work_phases(SimTime time) { return {.phases = {{.work = time}}, .loads = {}}; }

SimTime time_alone(const MessagePhases& phases) {
  SimTime time{};
  for (const MessagePhase& phase : phases.phases) {
    SimTime longest = phase.work;
    for (std::int32_t at = phase.first_load; at < phase.first_load + phase.loads; ++at)
      longest = std::max(longest, phases.loads[as_index(at)].time);
    time += (longest + phase.latency) * phase.repeats;
  }
  return time;
}

bool is_rooted(Collective kind) {
  switch (kind) {
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
      return true;
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::barrier:
      return false;
  }
  throw Bug("an unknown collective");
}

}  // namespace troika
