// Devices told apart by the tiles that they have.
#include <fmt/format.h>

#include <span>
#include <string_view>

#include "lower/device_comparison.h"
#include "lower/planned_device.h"

namespace troika {
namespace {

/// How people call the steps of an axis and its two ends.
struct AxisWords {
  std::string noun;  ///< Empty: the axis has no word for them.
  std::string_view front = "in front", back = "behind";
};

AxisWords words_of(const Axis& axis) {
  if (axis.name == "h") return {"row", "above", "below"};
  if (axis.name == "w") return {"column", "on the left", "on the right"};
  return {axis.kind == AxisKind::sample && axis.name == "n" ? "sample" : ""};
}

/// "no row", "2 samples", "16 along axis 'o'"
std::string amount(std::int64_t count, const Axis& axis) {
  std::string noun = words_of(axis).noun;
  return noun.empty() ? fmt::format("{} along axis '{}'", count, axis.name)
                      : counted_noun(count, noun);
}

/// A tile of one job on each of the two devices.
class TilePair {
 public:
  TilePair(const Signature& signature, Region before, Region here)
      : signature_(signature), before_(std::move(before)), here_(std::move(here)) {}

  std::string explain() const {
    for (std::size_t axis = 0; axis < signature_.axes.size(); ++axis)
      if (before_[axis].extent() != here_[axis].extent())
        return fmt::format("{} instead of {}", amount(here_[axis].extent(), signature_.axes[axis]),
                           before_[axis].extent());
    for (const Slot& slot : signature_.slots)
      for (std::size_t dim = 0; dim < slot.dims.size(); ++dim)
        if (Difference found = compare_windows(slot, dim)) return *found;
    return "it begins elsewhere in the model";
  }

 private:
  /// What windows miss beyond the ends of a tensor is padding.
  Difference compare_windows(const Slot& slot, std::size_t dim) const {
    const DimMap& map = slot.dims[dim];
    if (map.axis == DimMap::kNoAxis) return {};
    const Axis& axis = signature_.axes[as_index(map.axis)];
    Window before(map, before_[as_index(map.axis)], slot.spec.shape[dim]);
    Window here(map, here_[as_index(map.axis)], slot.spec.shape[dim]);
    auto padding = [&](std::int64_t own, std::int64_t other, std::string_view side) {
      return fmt::format("{} of padding {} instead of {}", amount(own, axis), side, other);
    };
    if (here.front != before.front) return padding(here.front, before.front, words_of(axis).front);
    if (here.back != before.back) return padding(here.back, before.back, words_of(axis).back);
    if (here.read == before.read) return {};
    return fmt::format("it touches {} of '{}' instead of {}", amount(here.read, axis), slot.name,
                       before.read);
  }

  struct Window {
    Window(const DimMap& map, Range part, std::int64_t extent) {
      Range touched = touched_by(map, part), inside = intersect(touched, {0, extent});
      read = inside.extent();
      front = inside.begin - touched.begin;
      back = touched.end - inside.end;
    }
    std::int64_t read = 0, front = 0, back = 0;
  };

  const Signature& signature_;
  Region before_, here_;
};

/// "has no tile of fc8", "has 3 tiles of fc8 instead of 2"
std::string different_counts(std::size_t here, std::size_t before, const std::string& of) {
  std::string text =
      fmt::format("has {} of {}", counted_noun(static_cast<std::int64_t>(here), "tile"), of);
  return here > 0 && before > 0 ? fmt::format("{} instead of {}", text, before) : text;
}

/// With its phase, but that the forward pass goes without saying.
std::string name_of_job(const ProgramPlan& plan, const Job& job) {
  const std::string& name = plan.request.graph->operators[as_index(job.op)].name;
  return job.phase->phase == Phase::forward
             ? name
             : fmt::format("{} ({})", name, to_string(job.phase->phase));
}

Difference compare_job(const DevicePair& pair, std::size_t at) {
  const ProgramPlan& plan = pair.plan;
  const Job& job = plan.distribution.outline.jobs[at];
  const JobTiles& tiles = plan.distribution.jobs[at];
  if (tiles.set == 0 || !plan.distribution.outline.runs(job)) return {};
  std::span<const std::int32_t> before = PlannedDevice(plan, pair.before).tiles_here(tiles.set);
  std::span<const std::int32_t> here = PlannedDevice(plan, pair.here).tiles_here(tiles.set);
  if (before.size() != here.size())
    return different_counts(here.size(), before.size(), name_of_job(plan, job));
  for (std::size_t tile = 0; tile < here.size(); ++tile) {
    const TileTables& tables = plan.tables.tiles;
    if (tables.kind(tiles.kinds, before[tile]) == tables.kind(tiles.kinds, here[tile])) continue;
    TilePair two(plan.tables.index.signatures[as_index(job.op)],
                 box_of(plan.unit_request(), at, before[tile]),
                 box_of(plan.unit_request(), at, here[tile]));
    return fmt::format("tile of {}: {}", name_of_job(plan, job), two.explain());
  }
  return {};
}

Difference compare_stored(const DevicePair& pair, std::size_t at) {
  const ProgramPlan& plan = pair.plan;
  const DistributedValue& value = plan.distribution.values[at];
  if (plan.distribution.outline.values[at].kind != ValueKind::parameter) return {};
  TileSetId set = value.stored.set;
  std::span<const std::int32_t> before = PlannedDevice(plan, pair.before).tiles_here(set);
  std::span<const std::int32_t> here = PlannedDevice(plan, pair.here).tiles_here(set);
  if (before.size() != here.size())
    return fmt::format(
        "stores {} of {}{}", counted_noun(static_cast<std::int64_t>(here.size()), "part"),
        noun_of(plan, at), before.empty() ? "" : fmt::format(" instead of {}", before.size()));
  auto shape = [&](std::int32_t place) {
    return shape_of_tile(plan.tables.tiles, value.stored, place, value.spec.shape);
  };
  for (std::size_t place = 0; place < here.size(); ++place)
    if (shape(here[place]) != shape(before[place]))
      return fmt::format("stores {} of {} instead of {}", to_string(shape(here[place])),
                         noun_of(plan, at), to_string(shape(before[place])));
  return {};
}

}  // namespace

Difference compare_tiles(const DevicePair& pair) {
  for (std::size_t job = 0; job < pair.plan.distribution.jobs.size(); ++job)
    if (Difference found = compare_job(pair, job)) return found;
  for (std::size_t value = 0; value < pair.plan.distribution.values.size(); ++value)
    if (Difference found = compare_stored(pair, value)) return found;
  return {};
}

}  // namespace troika
