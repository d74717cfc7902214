#include "lower/kernel_units.h"

#include <algorithm>

#include "base/error.h"
#include "lower/fuse.h"
#include "lower/layout_search.h"

namespace troika {
namespace {

const Candidate& candidate_of(const std::vector<Candidate>& row, const KernelKey& key,
                              const KernelChoice& choice) {
  for (const Candidate& candidate : row)
    if (candidate.algorithm == choice.algorithm &&
        (candidate.flat || candidate.layouts == choice.layouts))
      return candidate;
  throw Bug("a kernel that its row does not have: " + to_text(key));
}

/// Reads the decisions off the unit graph.
class UnitReader {
 public:
  UnitReader(const UnitRequest& request, const UnitGraph& units, const KernelTable* table)
      : request_(request), units_(units), table_(table) {
    made_.jobs.resize(request.distribution.jobs.size());
    for (std::size_t job = 0; job < made_.jobs.size(); ++job)
      made_.jobs[job].resize(units.operands[job].size());
    for (const UpdatePlan& update : request.updates) {
      const Participant& stored = request.distribution.values[as_index(update.weight)].stored;
      made_.updates.emplace_back(request.distribution.kinds_of(stored.set).first.size(),
                                 std::vector<KernelUnit>(update.phases.size()));
    }
  }

  KernelUnits read(const std::vector<FusedChain>& fused, const LayoutChoices& found) {
    // A fused task stands for the units of all its tasks; those but the last are gone.
    std::vector<const FusedChain*> chain_of(units_.units.size());
    std::vector<bool> gone(units_.units.size());
    for (const FusedChain& chain : fused) {
      chain_of[chain.tasks.back()] = &chain;
      for (std::size_t task : chain.tasks) gone[task] = task != chain.tasks.back();
    }
    std::size_t at = 0;  // in the list that fusing has left
    for (std::size_t task = 0; task < units_.units.size(); ++task) {
      if (gone[task]) {
        const UnitOfTask& unit = units_.units[task];
        unit_of(unit).is_fused_away = true;
        continue;
      }
      note(task, units_.graph.tasks[at], found.tasks[at], chain_of[task]);
      ++at;
    }
    made_.stored.resize(units_.stored.size());
    for (std::size_t value = 0; value < units_.stored.size(); ++value)
      for (BufferId id : units_.stored[value])
        made_.stored[value].push_back(found.buffers[id.index()]);
    return std::move(made_);
  }

 private:
  KernelUnit& unit_of(const UnitOfTask& unit) {
    auto kind = as_index(unit.kind);
    if (unit.job >= 0) return made_.jobs[as_index(unit.job)][kind];
    return made_.updates[as_index(unit.update)][kind][as_index(unit.phase)];
  }

  void note(std::size_t task, const Task& decided, const KernelChoice& choice,
            const FusedChain* chain) {
    const UnitOfTask& unit = units_.units[task];
    if (unit.job < 0 && unit.update < 0) return;  // a sum: its layout follows
    KernelUnit& made = unit_of(unit);
    made.key = decided.key;
    made.choice = choice;
    const std::string& device_kind = (*request_.request.machine)[decided.device].kind;
    if (table_ != nullptr)
      made.in_place =
          candidate_of(*table_->find(device_kind, decided.key), decided.key, choice).in_place;
    for (std::size_t operand = 0; operand < decided.uses.size(); ++operand)
      made.operands.push_back(unit.job < 0 ? ValueUse{-1, static_cast<std::int32_t>(operand)}
                                           : use_of(task, chain, decided.uses[operand]));
  }

  /// The use of one of the chain's jobs that touches this buffer in this way.
  ValueUse use_of(std::size_t task, const FusedChain* chain, const BufferUse& wanted) {
    std::vector<std::size_t> tasks{task};
    if (chain != nullptr) tasks = chain->tasks;
    for (std::size_t each : tasks) {
      const UnitOfTask& unit = units_.units[each];
      auto job = as_index(unit.job);
      const std::vector<BufferId>& operands = units_.operands[job][as_index(unit.kind)];
      for (std::size_t use = 0; use < operands.size(); ++use) {
        Access access = request_.distribution.outline.jobs[job].phase->uses[use].access;
        if (BufferUse{operands[use], access} == wanted)
          return {unit.job, static_cast<std::int32_t>(use)};
      }
    }
    throw Bug("an operand of a fused task that none of its tasks has");
  }

  const UnitRequest& request_;
  const UnitGraph& units_;
  const KernelTable* table_;  // null: candidates are not known yet
  KernelUnits made_;
};

}  // namespace

std::vector<KernelRequest> rows_of(const UnitGraph& units, const Machine& machine) {
  std::vector<KernelRequest> rows;
  auto add = [&](const Task& task, const KernelKey& key) {
    rows.push_back({machine[task.device].kind, key});
  };
  for (const Task& task : units.graph.tasks) add(task, task.key);
  for (const FusedChain& chain : find_chains(units.graph))
    add(units.graph.tasks[chain.tasks.front()], chain.key);
  return rows;
}

KernelUnits plain_units(const UnitRequest& request, const UnitGraph& units) {
  LayoutChoices plain{.buffers = std::vector(units.graph.buffers.size(), Layout::plain)};
  for (const Task& task : units.graph.tasks)
    plain.tasks.push_back({"", std::vector(task.uses.size(), Layout::plain), {}, {}});
  return UnitReader(request, units, nullptr).read({}, plain);
}

KernelUnits choose_units(const UnitRequest& request, UnitGraph units, const KernelTable& table) {
  const Machine& machine = *request.request.machine;
  std::vector<FusedChain> fused = fuse(units.graph, machine, table);
  LayoutChoices found = search_layouts(units.graph, table, {machine, request.request.storage});
  return UnitReader(request, units, &table).read(fused, found);
}

}  // namespace troika
