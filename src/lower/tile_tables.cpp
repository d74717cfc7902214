#include "lower/tile_tables.h"

#include <algorithm>
#include <unordered_set>

#include "base/hash.h"
#include "strategy/split_check.h"

namespace troika {
namespace {

void append(TableKey& key, const std::vector<std::int32_t>& numbers) {
  key.insert(key.end(), numbers.begin(), numbers.end());
}

/// By tile of a set: how many have the same parts along these axes.
std::vector<std::int64_t> count_copies(const TileSet& tiles, const std::vector<AxisDigit>& axes) {
  std::unordered_map<std::int64_t, std::int64_t> counts;  // by place along the axes
  std::vector<std::int64_t> places;
  for (std::int32_t tile = 0; tile < tiles.count(); ++tile) {
    std::int64_t place = 0;
    for (AxisDigit axis : axes) place = place * axis.count + tiles.part(tile, axis);
    ++counts[place];
    places.push_back(place);
  }
  std::vector<std::int64_t> copies;
  for (std::int64_t place : places) copies.push_back(counts[place]);
  return copies;
}

void append(TableKey& key, const DimMap& map) {
  key.insert(key.end(), {map.stride, map.pad, map.reach, static_cast<std::int64_t>(map.inverse)});
}

/// Steps of the axis are the indices of the dimension.
bool is_identity(const DimMap& map) {
  return map.stride == 1 && map.pad == 0 && map.reach == 1 && !map.inverse;
}

/// Lists the tiles of each device.
void index_by_device(TileSet& set, std::size_t devices) {
  set.first.assign(devices + 1, 0);
  for (std::int32_t device : set.device) ++set.first[as_index(device) + 1];
  for (std::size_t at = 0; at < devices; ++at) set.first[at + 1] += set.first[at];
  std::vector<std::int32_t> next(set.first.begin(), set.first.end() - 1);
  set.tiles.resize(set.device.size());
  for (std::int32_t tile = 0; tile < set.count(); ++tile) {
    std::int32_t& at = next[as_index(set.device[as_index(tile)])];
    set.tiles[as_index(at++)] = tile;
  }
}

/// What a part is to the kernels: its length, where it cuts what must be whole, and what its
/// windows reach of each tensor and miss beyond the tensor's ends (local padding).
TableKey kind_of_part(Range part, std::size_t axis, const Signature& signature) {
  std::int64_t whole = signature.axes[axis].whole;
  TableKey kind{part.extent(), part.begin % whole == 0 && part.end % whole == 0};
  for (const Slot& slot : signature.slots) {
    for (std::size_t dim = 0; dim < slot.dims.size(); ++dim) {
      const DimMap& map = slot.dims[dim];
      if (map.axis != static_cast<int>(axis) || is_identity(map)) continue;
      Range touched = touched_by(map, part);
      Range inside = intersect(touched, {0, slot.spec.shape[dim]});
      kind.insert(kind.end(),
                  {inside.extent(), inside.begin - touched.begin, touched.end - inside.end});
      // Transposed windows: several steps share an index, so where a part begins between two
      // counts. It does not inside the one row of statistics that a part of a shard has.
      bool in_row =
          inside.extent() == 1 && (slot.role == Role::saved || slot.role == Role::statistic);
      if (map.inverse && !in_row) kind.push_back(part.begin - inside.begin * map.stride);
    }
  }
  return kind;
}

}  // namespace

TileTables::TileTables(std::size_t devices) : devices_(devices) {
  ranges_.push_back(std::make_unique<Ranges>());
  kinds_.push_back(std::make_unique<std::vector<std::int32_t>>());
  add_set({});
}

std::int32_t TileTables::kind_count(KindsId id) const {
  const std::vector<std::int32_t>& all = kinds(id);
  return all.empty() ? 1 : *std::ranges::max_element(all) + 1;
}

TileSetId TileTables::add_set(TileSet set) {
  TableKey key{std::ssize(set.device)};
  append(key, set.device);
  append(key, set.source);
  auto [known, is_new] = set_ids_.try_emplace(std::move(key), std::ssize(sets_));
  if (is_new) {
    index_by_device(set, devices_);
    sets_.push_back(std::make_unique<const TileSet>(std::move(set)));
  }
  return known->second;
}

OperatorTiles TileTables::tiles_of(const SplitOperator& subject, std::int64_t micro_batches) {
  const Signature& signature = subject.signature;
  TileMap map = map_tiles(signature, subject.split, {0, micro_batches});
  OperatorTiles made{.sample_axis = sample_axis(signature), .micro_batches = micro_batches};
  for (std::size_t axis = 0; axis < signature.axes.size(); ++axis) {
    const Ranges& parts = map.parts[axis];
    std::int64_t whole = signature.axes[axis].whole;
    bool samples = static_cast<int>(axis) == made.sample_axis;
    made.digits.push_back({1, static_cast<std::int32_t>(parts.size())});
    made.extents.push_back(signature.axes[axis].extent / (samples ? micro_batches : 1));
    made.parts.push_back(ranges_id(parts, made.extents.back()));
    made.kinds.push_back(made.parts.back() == 0 ? 0 : part_kinds(made.parts.back(), axis, subject));
    for (Range part : parts)
      made.staged = made.staged || part.begin % whole != 0 || part.end % whole != 0;
  }
  auto stride = static_cast<std::int32_t>(map.replicas);
  for (std::size_t axis = made.digits.size(); axis-- > 0;) {
    made.digits[axis].stride = stride;
    stride *= made.digits[axis].count;
    // Axes in one part have the same digit wherever they stand.
    if (made.digits[axis].count == 1) made.digits[axis].stride = 1;
  }
  made.set = add_set({.device = std::move(map.device)});
  return made;
}

TileSetId TileTables::tiles_of_phase(const OperatorTiles& op, const std::vector<bool>& runs_along) {
  const TileSet& all = set(op.set);
  TableKey key{op.set};
  bool repeats = false;
  std::vector<AxisDigit> digits;
  for (std::size_t axis = 0; axis < runs_along.size(); ++axis) {
    if (op.digits[axis].count == 1) continue;
    repeats = repeats || !runs_along[axis];
    if (!runs_along[axis]) continue;
    digits.push_back(op.digits[axis]);
    key.insert(key.end(), {op.digits[axis].stride, op.digits[axis].count});
  }
  if (!repeats) return op.set;
  if (auto found = phase_ids_.find(key); found != phase_ids_.end()) return found->second;
  TileSet own;
  std::unordered_set<std::int64_t> done;  // by device and place along the phase's axes
  for (std::int32_t tile = 0; tile < all.count(); ++tile) {
    std::int32_t device = all.device[as_index(tile)];
    std::int64_t place = device;
    for (AxisDigit digit : digits) place = place * digit.count + all.part(tile, digit);
    if (!done.insert(place).second) continue;
    own.device.push_back(device);
    own.source.push_back(tile);
  }
  return phase_ids_[key] = own.count() == all.count() ? op.set : add_set(std::move(own));
}

TileSetId TileTables::listed_set(const std::vector<std::int32_t>& devices) {
  return add_set({.device = devices});
}

bool TileTables::overlap(RangesId id) const {
  const Ranges& all = ranges(id);
  return std::ranges::adjacent_find(
             all, [](Range a, Range b) { return !intersect(a, b).empty(); }) != all.end();
}

std::int64_t TileTables::copies_of(TileSetId id, const std::vector<AxisDigit>& axes,
                                   std::int32_t tile) const {
  const TileSet& tiles = set(id);
  // A whole set is a product of parts.
  if (tiles.source.empty()) {
    std::int64_t terms = 1;
    for (AxisDigit axis : axes) terms *= axis.count;
    return tiles.count() / terms;
  }
  TableKey key{id};
  for (AxisDigit axis : axes) key.insert(key.end(), {axis.stride, axis.count});
  auto [known, is_new] = copies_.try_emplace(std::move(key));
  if (is_new) known->second = count_copies(tiles, axes);
  return known->second[as_index(tile)];
}

bool TileTables::is_once_per_device(TileSetId id) const {
  const TileSet& tiles = set(id);
  return std::ranges::adjacent_find(tiles.first, [](std::int32_t a, std::int32_t b) {
           return b - a > 1;
         }) == tiles.first.end();
}

RangesId TileTables::ranges_id(const Ranges& ranges, std::int64_t extent) {
  if (ranges.size() == 1 && ranges[0] == Range{0, extent}) return 0;
  TableKey key;
  key.reserve(2 * ranges.size());
  for (Range range : ranges) key.insert(key.end(), {range.begin, range.end});
  auto [known, is_new] = range_ids_.try_emplace(std::move(key), std::ssize(ranges_));
  if (is_new) ranges_.push_back(std::make_unique<const Ranges>(ranges));
  return known->second;
}

RangesId TileTables::projected(RangesId parts, const DimMap& map, std::int64_t axis_extent,
                               std::int64_t extent) {
  if (is_identity(map) && (parts != 0 || axis_extent == extent)) return parts;
  TableKey key{parts, axis_extent, extent};
  append(key, map);
  auto [known, is_new] = projected_ids_.try_emplace(std::move(key), 0);
  if (!is_new) return known->second;
  DimMap only = map;
  only.axis = 0;
  Ranges touched;
  for (Range part : parts == 0 ? Ranges{{0, axis_extent}} : ranges(parts))
    touched.push_back(project(only, {{part}}, extent));
  return known->second = ranges_id(touched, extent);
}

std::vector<DimCut> TileTables::cuts_of(const Slot& slot, const OperatorTiles& tiles) {
  std::vector<DimCut> cuts(slot.dims.size());
  for (std::size_t dim = 0; dim < cuts.size(); ++dim) {
    const DimMap& map = slot.dims[dim];
    if (map.axis == DimMap::kNoAxis) continue;
    auto axis = as_index(map.axis);
    std::int64_t extent =
        slot.spec.shape[dim] / (map.axis == tiles.sample_axis ? tiles.micro_batches : 1);
    RangesId ranges = projected(tiles.parts[axis], map, tiles.extents[axis], extent);
    if (ranges != 0) cuts[dim] = {tiles.digits[axis], ranges};
  }
  return cuts;
}

KindsId TileTables::part_kinds(RangesId parts, std::size_t axis, const SplitOperator& subject) {
  const Signature& signature = subject.signature;
  bool by_begin = depends_on_begin(subject.op, signature.axes[axis]);
  TableKey key{parts, signature.axes[axis].whole, by_begin};
  for (const Slot& slot : signature.slots) {
    for (std::size_t dim = 0; dim < slot.dims.size(); ++dim) {
      if (slot.dims[dim].axis != static_cast<int>(axis) || is_identity(slot.dims[dim])) continue;
      append(key, slot.dims[dim]);
      key.push_back(slot.spec.shape[dim]);
    }
  }
  auto [known, is_new] = part_kind_ids_.try_emplace(std::move(key), 0);
  if (!is_new) return known->second;
  std::unordered_map<TableKey, std::int64_t, TableKeyHash> numbers;
  std::vector<std::int64_t> kinds;
  for (Range part : ranges(parts)) {
    TableKey kind = kind_of_part(part, axis, signature);
    if (by_begin) kind.push_back(part.begin);
    auto [number, is_first] = numbers.try_emplace(std::move(kind), std::ssize(numbers));
    kinds.push_back(number->second);
  }
  return known->second = kinds_id(kinds);
}

KindsId TileTables::kinds_of(TileSetId id, const OperatorTiles& op) {
  if (std::ranges::all_of(op.kinds, [](KindsId kinds) { return kinds == 0; })) return 0;
  TableKey key{id};
  for (std::size_t axis = 0; axis < op.kinds.size(); ++axis)
    if (op.kinds[axis] != 0)
      key.insert(key.end(), {op.kinds[axis], op.digits[axis].stride, op.digits[axis].count});
  auto [known, is_new] = tile_kind_ids_.try_emplace(std::move(key), 0);
  if (!is_new) return known->second;
  const TileSet& tiles = set(id);
  std::vector<std::int64_t> values(tiles.device.size());
  for (std::size_t axis = 0; axis < op.kinds.size(); ++axis) {
    if (op.kinds[axis] == 0) continue;
    const std::vector<std::int32_t>& part_kind = kinds(op.kinds[axis]);
    std::int64_t count = kind_count(op.kinds[axis]);
    for (std::int32_t tile = 0; tile < tiles.count(); ++tile) {
      std::int64_t& value = values[as_index(tile)];
      value = value * count + part_kind[as_index(tiles.part(tile, op.digits[axis]))];
    }
  }
  return known->second = kinds_id(values);
}

KindsId TileTables::kinds_of_extents(TileSetId id, const std::vector<DimCut>& cuts) {
  const TileSet& tiles = set(id);
  std::vector<KindsId> found;
  for (const DimCut& cut : cuts) {
    if (cut.ranges == 0 || ranges(cut.ranges).size() == 1) continue;
    TableKey key{-1, id, cut.digit.stride, cut.digit.count, cut.ranges};
    auto [known, is_new] = tile_kind_ids_.try_emplace(std::move(key), 0);
    if (is_new) {
      std::vector<std::int64_t> extents;
      for (std::int32_t tile = 0; tile < tiles.count(); ++tile)
        extents.push_back(ranges(cut.ranges)[as_index(tiles.part(tile, cut.digit))].extent());
      known->second = kinds_id(extents);
    }
    if (known->second != 0) found.push_back(known->second);
  }
  return joined_kinds(found);
}

KindsId TileTables::kinds_of_devices(TileSetId id, const std::vector<std::int32_t>& device_kinds) {
  if (std::ranges::adjacent_find(device_kinds, std::ranges::not_equal_to{}) == device_kinds.end())
    return 0;
  std::vector<std::int64_t> values;
  for (std::int32_t device : set(id).device) values.push_back(device_kinds[as_index(device)]);
  return kinds_id(values);
}

KindsId TileTables::joined_kinds(const std::vector<KindsId>& all) {
  if (all.empty()) return 0;
  if (all.size() == 1) return all[0];
  TableKey key{-2};
  append(key, all);
  auto [known, is_new] = tile_kind_ids_.try_emplace(std::move(key), 0);
  if (!is_new) return known->second;
  std::vector<std::int64_t> values(kinds(all[0]).size());
  for (KindsId each : all) {
    std::int64_t count = kind_count(each);
    for (std::size_t tile = 0; tile < values.size(); ++tile)
      values[tile] = values[tile] * count + kinds(each)[tile];
    // Dense again, so that many of them do not overflow.
    KindsId dense = kinds_id(values);
    if (dense != 0) std::ranges::copy(kinds(dense), values.begin());
  }
  return known->second = kinds_id(values);
}

std::vector<std::int32_t> TileTables::first_of_kinds(TileSetId id, KindsId kinds_id) const {
  if (set(id).count() == 0) return {};
  if (kinds_id == 0) return {0};
  std::vector<std::int32_t> first;
  const std::vector<std::int32_t>& all = kinds(kinds_id);
  // Kinds are numbered in the order in which they occur.
  for (std::int32_t tile = 0; tile < set(id).count(); ++tile)
    if (all[as_index(tile)] == static_cast<std::int32_t>(first.size())) first.push_back(tile);
  return first;
}

KindsId TileTables::kinds_id(const std::vector<std::int64_t>& values) {
  std::unordered_map<std::int64_t, std::int32_t> numbers;
  std::vector<std::int32_t> kinds;
  for (std::int64_t value : values)
    kinds.push_back(numbers.try_emplace(value, std::ssize(numbers)).first->second);
  if (numbers.size() <= 1) return 0;
  TableKey key(kinds.begin(), kinds.end());
  auto [known, is_new] = kind_ids_.try_emplace(std::move(key), std::ssize(kinds_));
  if (is_new) kinds_.push_back(std::make_unique<const std::vector<std::int32_t>>(std::move(kinds)));
  return known->second;
}

}  // namespace troika
