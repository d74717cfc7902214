#include "lower/kernel_units.h"

#include <algorithm>

#include "base/error.h"
#include "lower/fuse.h"
#include "lower/layout_search.h"
#include "lower/unit_graph.h"

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
  UnitReader(const UnitRequest& request, UnitGraph& units, const KernelTable* table)
      : request_(request), units_(units), table_(table) {
    made_.jobs.resize(request.distribution.jobs.size());
    for (std::size_t job = 0; job < made_.jobs.size(); ++job)
      made_.jobs[job].resize(units.operands[job].size());
    for (const UpdatePlan& update : request.updates) {
      const Participant& stored =
          request.distribution.values[as_index(update.weight)].stored;
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
    return made_.updates[as_index(unit.update)][kind]
                        [as_index(unit.phase)];
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
      made.operands.push_back(unit.job < 0
                                  ? ValueUse{-1, static_cast<std::int32_t>(operand)}
                                  : use_of(task, chain, decided.uses[operand]));
  }

  /// The use of one of the chain's jobs that touches this buffer in this way.
  ValueUse use_of(std::size_t task, const FusedChain* chain, const BufferUse& wanted) {
    std::vector<std::size_t> tasks{task};
    if (chain != nullptr) tasks = chain->tasks;
    for (std::size_t each : tasks) {
      const UnitOfTask& unit = units_.units[each];
      auto job = as_index(unit.job);
      const std::vector<BufferId>& operands =
          units_.operands[job][as_index(unit.kind)];
      for (std::size_t use = 0; use < operands.size(); ++use) {
        Access access = request_.distribution.outline.jobs[job].phase->uses[use].access;
        if (BufferUse{operands[use], access} == wanted)
          return {unit.job, static_cast<std::int32_t>(use)};
      }
    }
    throw Bug("an operand of a fused task that none of its tasks has");
  }

  const UnitRequest& request_;
  UnitGraph& units_;
  const KernelTable* table_;  // null: candidates are not known yet
  KernelUnits made_;
};

}  // namespace

TensorSpec updated_spec(const UnitRequest& request, const UpdatePlan& update, std::int32_t place) {
  const DistributedValue& weight =
      request.distribution.values[as_index(update.weight)];
  Region region = region_of(request.tables.tiles, weight.stored, place, weight.spec.shape);
  if (update.shared == nullptr) return {region.shape(), weight.spec.dtype};
  std::int32_t owners = (*update.shared)[as_index(place)].owners;
  return {{slice_length(region.elements(), owners)}, weight.spec.dtype};
}

Region box_of(const UnitRequest& request, std::size_t job, std::int32_t tile) {
  const Distribution& distribution = request.distribution;
  const OperatorTiles& op =
      distribution.operators[as_index(distribution.outline.jobs[job].op)];
  const TileSet& set = request.tables.tiles.set(distribution.jobs[job].set);
  Region box;
  for (std::size_t axis = 0; axis < op.parts.size(); ++axis) {
    RangesId parts = op.parts[axis];
    box.ranges.push_back(parts == 0
                             ? Range{0, op.extents[axis]}
                             : request.tables.tiles.ranges(parts)[as_index(
                                   set.part(tile, op.digits[axis]))]);
  }
  return box;
}

KernelKey key_of(const UnitRequest& request, std::size_t job, std::int32_t tile) {
  const Job& own = request.distribution.outline.jobs[job];
  auto op = as_index(own.op);
  const Signature& s = request.tables.index.signatures[op];
  Region box = box_of(request, job, tile);
  KernelKey key{localize(request.request.graph->operators[op].op, s, box), {}, own.phase->phase,
                {}};
  for (int slot : s.slots_of(Role::input)) {
    const Slot& input = s.slots[as_index(slot)];
    key.inputs.push_back({region_of(input, box).shape(), input.spec.dtype});
  }
  return key;
}

std::vector<KernelRequest> rows_of_units(const UnitRequest& request) {
  UnitGraph units = make_unit_graph(request);
  std::vector<KernelRequest> rows;
  auto add = [&](const Task& task, const KernelKey& key) {
    rows.push_back({(*request.request.machine)[task.device].kind, key});
  };
  for (const Task& task : units.graph.tasks) add(task, task.key);
  for (const FusedChain& chain : find_chains(units.graph))
    add(units.graph.tasks[chain.tasks.front()], chain.key);
  return rows;
}

KernelUnits plain_units(const UnitRequest& request) {
  UnitGraph units = make_unit_graph(request);
  LayoutChoices plain{.buffers = std::vector(units.graph.buffers.size(), Layout::plain)};
  for (const Task& task : units.graph.tasks)
    plain.tasks.push_back({"", std::vector(task.uses.size(), Layout::plain), {}, {}});
  return UnitReader(request, units, nullptr).read({}, plain);
}

KernelUnits choose_units(const UnitRequest& request, const KernelTable& table,
                         const GivenChoices& given) {
  UnitGraph units = make_unit_graph(request);
  std::vector<FusedChain> fused = fuse(units.graph, *request.request.machine, table);
  LayoutChoices found = search_layouts(
      units.graph, table, {*request.request.machine, request.request.storage, given, false});
  return UnitReader(request, units, &table).read(fused, found);
}

}  // namespace troika
