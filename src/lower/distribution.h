// A program under a strategy before any task exists: which tiles each phase has, where parameters
// are stored and updated, and how each value gets from its writers to its readers.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lower/outline.h"
#include "lower/unit_regions.h"
#include "lower/value_spread.h"

namespace troika {

/// A phase of an operator on its tiles. One that does not run has none.
struct JobTiles {
  TileSetId set = 0;
  KindsId kinds = 0;                  ///< As this phase alone tells its tiles apart.
  std::vector<Participant> uses{};    ///< Empty cuts where the use is no value.
  std::vector<std::int32_t> roles{};  ///< By use: which writer or reader of its value it is.

  bool operator==(const JobTiles&) const = default;
};

/// Tiles of one kind take the same kernel in every phase that has this set of tiles.
struct KindsOfSet {
  std::vector<std::int32_t> first{};  ///< By kind: its first tile.
  /// What the phases and stored values on the set see, and how many of them do.
  std::map<KindsId, std::int32_t> seen{};
};

/// A value with what takes part in it. The readers of its redistribution are the phases that read
/// it, in their order, then the update of its parameter, then the host.
struct DistributedValue {
  TensorSpec spec;  ///< Of a micro-batch.
  ValueSpread spread;
  Participant stored{};                 ///< Parameters and inputs of the graph: where they are.
  const PlaceGroups* groups = nullptr;  ///< Of a parameter's stored places.
  int updates = -1;                     ///< Index of the reader that is the update; -1: none.
  int held = -1;                        ///< Index of the reader that is the host; -1: none.

  bool operator==(const DistributedValue&) const = default;
};

struct Distribution {
  Outline outline;
  std::int64_t micro_batches = 1;
  std::vector<OperatorTiles> operators;  ///< By operator; those left out too.
  std::vector<JobTiles> jobs;
  std::vector<DistributedValue> values;
  std::unordered_map<TileSetId, KindsOfSet> kinds;  ///< Of the sets of jobs and stored parameters.

  /// By set, of those in `kinds`: which of its tiles are of one kind. Apart from the rest because
  /// it is read for each operand of each task.
  std::vector<KindsId> joined_kinds;

  const KindsOfSet& kinds_of(TileSetId set) const { return kinds.at(set); }
};

/// Who updates a stored region together.
struct SharedUpdate {
  std::int32_t owners = 1;
  std::int32_t owner = 0;     ///< Which of them this place is.
  std::int32_t message = -1;  ///< Of the gradient's redistribution: the sum that is scattered.

  bool operator==(const SharedUpdate&) const = default;
};

/// Updates of a parameter that devices share.
struct SharedUpdates {
  std::vector<SharedUpdate> places;  ///< By stored place.
  std::vector<std::int32_t>
      place_of{};  ///< By message: a place whose sum is scattered by it, or -1.

  bool operator==(const SharedUpdates&) const = default;
};

/// Tables that lowerings of one graph on one machine share.
struct PlanTables {
  PlanTables(const Graph& graph, const Machine& machine)
      : index(graph),
        regions(find_regions(index)),
        tiles(machine.devices.size()),
        spreads(tiles, machine) {}

  IndexedGraph index;
  UnitRegions regions;
  TileTables tiles;
  SpreadTable spreads;
  /// By the gradient's moves, the reader that is the update, and the groups of stored places.
  std::map<std::tuple<const Moves*, int, const PlaceGroups*>, SharedUpdates> shared_updates{};
};

/// For a feasible request whose layers are cut (lower/cut_request.h). Grows the tables.
Distribution distribute(const LowerRequest& request, PlanTables& tables);

/// A request whose strategy has got other splits for these operators.
struct ChangedSplits {
  const LowerRequest& request;
  std::span<const std::int32_t> operators;
};

/// What a change concerns: everything that differs, and everything that uses what differs. By
/// index, ascending, each once.
struct Touched {
  std::vector<std::int32_t> jobs, values, updates;
};

/// Sorts the lists and removes what is in them twice.
void sort_all(Touched& touched);

/// Makes a distribution what distribute() would make of the changed request; values of norms are
/// left to the updates. The result lists no updates.
Touched change(Distribution& distribution, const ChangedSplits& changed, PlanTables& tables);

/// Adds the jobs that use the values, and what lies in views of them; sorts.
void add_users(const Outline& outline, Touched& touched);

/// A sum over the batch, of one number: evaluation adds it up over all devices.
inline bool is_total(const TensorSpec& spec) { return spec == TensorSpec{{1}, DType::f64}; }

}  // namespace troika
