// The units of a part of a program (one unit: one kind of tile of one phase) and the values between
// them: what decides which units are fused and how values lie.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cost/kernel_table.h"
#include "lower/layout_set.h"
#include "lower/unit_keys.h"

namespace troika {

/// One operand of a unit.
struct UnitUse {
  std::int32_t buffer = -1;
  Access access = Access::read;
  /// The use of a job that it is. Of an update: the use of its phase, without a job.
  ValueUse of{};
};

struct UnitBuffer {
  TensorSpec spec;
  std::int32_t view_of = -1;      ///< Shares the memory of this buffer.
  std::optional<Layout> fixed{};  ///< By the host, another program, or the border of a region.
  LayoutSet asked{};              ///< By something that is not a unit of this graph.
  bool stays = false;             ///< Somebody else needs it, so it is not fused away.
};

struct Unit {
  std::int32_t job = -1;     ///< -1: an update, or a sum of contributions.
  std::int32_t update = -1;  ///< Index into the updates.
  std::int32_t kind = 0;
  std::int32_t phase = 0;  ///< Of the update.
  /// The first kind on devices of the same kind, whatever their rates: units of one leader that
  /// have equal keys take one kernel, so that copies of a tile have the same bits.
  std::int32_t leader = 0;
  DeviceId device{};  ///< Of the first tile of its kind.
  KernelKey key{};
  std::vector<UnitUse> uses{};
  int output = -1;    ///< The operand that holds the only output of a forward phase.
  int gradient = -1;  ///< The operand that holds the gradient of the only output.
  const std::vector<Candidate>* row = nullptr;  ///< See find_rows.

  bool is_sum() const { return job < 0 && update < 0; }
};

struct UnitGraph {
  /// A buffer that one kind of tile of a writer writes, or one kind of place stores.
  struct Piece {
    std::int32_t value = -1;
    std::int32_t writer = 0;
    std::int32_t kind = 0;
    std::int32_t buffer = -1;
  };

  std::vector<UnitBuffer> buffers;
  std::vector<Unit> units;
  std::vector<std::vector<std::int32_t>> tied;  ///< Buffers that lie alike.
  std::vector<Piece> stored;
  std::vector<Piece> written;
  std::vector<std::int32_t> from_outside, to_outside;  ///< Buffers between here and other parts.
};

/// How values lie that are written in one region and read in another one, by value and writer; a
/// parameter has one. Empty: it is used within one region.
using BorderLayouts = std::vector<std::vector<Layout>>;

/// Index from operators to their jobs and updates.
struct UnitIndex {
  explicit UnitIndex(const UnitRequest& request);

  /// The jobs of operator o, in their order, are jobs[first[o]] to jobs[first[o + 1]].
  std::vector<std::int32_t> first, jobs;
  /// By operator: the updates of the parameters that it is the first to use.
  std::vector<std::vector<std::int32_t>> updates;
  std::unordered_map<std::string_view, const StateEntry*> storage;  ///< Of other programs.
};

/// Some operators of a program.
struct UnitPart {
  const std::vector<std::int32_t>& operators;
  /// Null: values that come from outside may lie as suits the units inside.
  const BorderLayouts* borders = nullptr;
  bool updates = true;  ///< With the updates of their parameters.
};

UnitGraph make_unit_graph(const UnitRequest& request, const UnitIndex& index, const UnitPart& part);

/// Looks up the rows of all units. Returns whether the table has them.
bool find_rows(UnitGraph& graph, const Machine& machine, const KernelTable& table);

}  // namespace troika
