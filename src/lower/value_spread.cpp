#include "lower/value_spread.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace troika {
namespace {

Range range_of(const TileTables& tables, const DimCut& cut, const TileSet& set, std::int32_t tile,
               std::int64_t extent) {
  if (cut.ranges == 0) return {0, extent};
  const Ranges& ranges = tables.ranges(cut.ranges);
  // One part of the axis may still touch less than the dimension.
  return ranges[ranges.size() == 1 ? 0 : as_index(set.part(tile, cut.digit))];
}

void append(TableKey& key, const Participant& participant, const std::vector<int>& frame) {
  key.insert(key.end(), {participant.set, static_cast<std::int64_t>(participant.shared),
                         std::ssize(participant.partial_axes)});
  for (AxisDigit axis : participant.partial_axes) key.insert(key.end(), {axis.stride, axis.count});
  for (int dim : frame) {
    const DimCut& cut = participant.cuts[as_index(dim)];
    key.insert(key.end(), {cut.ranges, cut.digit.stride, cut.digit.count});
  }
}

std::vector<int> frame_of(const SpreadRequest& request) {
  std::vector<int> frame;
  for (std::size_t dim = 0; dim < request.shape.rank(); ++dim) {
    auto is_cut = [&](const Participant& each) { return each.cuts[dim].ranges != 0; };
    if (std::ranges::any_of(request.writers, is_cut) ||
        std::ranges::any_of(request.readers, is_cut))
      frame.push_back(static_cast<int>(dim));
  }
  return frame;
}

/// `unit`: as in ValueSpread; the shape counts in units.
Frame extents_of(const Shape& shape, const std::vector<int>& frame,
                 const std::vector<std::int64_t>& unit) {
  Frame made{.dims = static_cast<int>(frame.size())};
  std::size_t at = 0;
  bool wide = false;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (at < frame.size() && frame[at] == static_cast<int>(dim)) {
      made.extents[at] = static_cast<std::int32_t>(shape[dim]);
      made.wide_before[at] = wide;
      wide = wide || unit[at] > 1;
      ++at;
    } else {
      wide = wide || shape[dim] > 1;
    }
  }
  return made;
}

TableKey key_of(const SpreadRequest& request, const ValueSpread& spread) {
  const std::vector<int>& frame = spread.frame;
  Frame extents = extents_of(request.shape, frame, spread.unit);
  TableKey key{extents.dims, request.greatest, request.fixed_order, request.merge_each,
               std::ssize(request.writers)};
  for (std::size_t dim = 0; dim < frame.size(); ++dim)
    key.insert(key.end(), {extents.extents[dim], extents.wide_before[dim]});
  for (const Participant& writer : request.writers) append(key, writer, frame);
  for (const Participant& reader : request.readers) append(key, reader, frame);
  return key;
}

/// Every tile reads just what the tile of the same number wrote.
bool is_identity(const SpreadRequest& request) {
  if (request.writers.size() != 1 || !request.writers[0].partial_axes.empty()) return false;
  const Participant& writer = request.writers[0];
  return std::ranges::all_of(request.readers, [&](const Participant& reader) {
    return reader.set == writer.set && reader.cuts == writer.cuts;
  });
}

}  // namespace

Moves::Moves(const RedistributionRequest& request, const Neighbourhood& where)
    : Redistribution(redistribute(request, where)),
      contributions(request.from.size()),
      first_buffer(where.node.size() + 1),
      first_step(where.node.size() + 1),
      maker(buffers.size(), -1),
      message(buffers.size(), -1),
      member(buffers.size(), -1),
      part(members.size(), -1),
      reduces_written(contributions) {
  auto count = [](auto& first, const auto& items) {
    for (const auto& item : items) ++first[as_index(item.device) + 1];
    for (std::size_t at = 0; at + 1 < first.size(); ++at) first[at + 1] += first[at];
  };
  count(first_buffer, buffers);
  count(first_step, steps);
  for (std::size_t at = 0; at < steps.size(); ++at) {
    auto out = as_index(steps[at].out);
    assembles = assembles || steps[at].kind == Step::Kind::assemble;
    if (steps[at].kind == Step::Kind::start)
      part[as_index(messages[as_index(steps[at].message)].first_member + steps[at].member)] =
          static_cast<std::int32_t>(at) - first_step[as_index(steps[at].device)];
    if (steps[at].kind == Step::Kind::start &&
        messages[as_index(steps[at].message)].kind != Collective::broadcast)
      note_reduced(steps[at].out);
    if (steps[at].message < 0) {
      maker[out] = static_cast<std::int32_t>(at);
    } else if (messages[as_index(steps[at].message)].kind != Collective::broadcast ||
               steps[at].member > 0) {  // the root's is sent as it is
      message[out] = steps[at].message;
      member[out] = steps[at].member;
    }
  }
  find_levels();
}

/// A sum lies as its terms do, so those of a sum that a message adds up count as well.
void Moves::note_reduced(std::int32_t buffer) {
  const PlacedBuffer& placed = buffers[as_index(buffer)];
  if (placed.kind == PlacedBuffer::Kind::written) reduces_written[as_index(placed.origin)] = true;
  std::int32_t step = maker[as_index(buffer)];
  if (step < 0 || steps[as_index(step)].kind != Step::Kind::sum) return;
  const Step& sum = steps[as_index(step)];
  for (std::int32_t input = 0; input < sum.input_count; ++input)
    if (std::int32_t term = inputs[as_index(sum.first_input + input)].buffer; term != buffer)
      note_reduced(term);
}

/// Longest paths: walks the devices' lists again as long as a message turns out to start later.
void Moves::find_levels() {
  level.resize(steps.size());
  std::vector<std::int32_t> of_message(messages.size());
  // Blocks of a vector count with it.
  auto memory_of = [&](std::int32_t buffer) {
    const PlacedBuffer& placed = buffers[as_index(buffer)];
    return as_index(placed.kind == PlacedBuffer::Kind::block ? placed.origin : buffer);
  };
  for (bool changes = true; changes;) {
    changes = false;
    std::vector<std::int32_t> of_buffer(buffers.size());
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const Step& step = steps[at];
      std::int32_t& out = of_buffer[memory_of(step.out)];
      std::int32_t before = out;
      for (std::int32_t input = 0; input < step.input_count; ++input)
        before = std::max(before,
                          of_buffer[memory_of(inputs[as_index(step.first_input + input)].buffer)]);
      if (step.kind == Step::Kind::start) {
        std::int32_t& start = of_message[as_index(step.message)];
        changes = changes || before + 1 > start;
        level[at] = start = std::max(start, before + 1);
      } else {
        level[at] = (step.message < 0 ? before : of_message[as_index(step.message)]) + 1;
        out = level[at];
      }
    }
  }
}

SpreadTable::SpreadTable(TileTables& tables, const Machine& machine) : tables_(tables) {
  for (const DeviceSpec& device : machine.devices) {
    processes_.push_back(device.rank);
    nodes_.push_back(device.node);
  }
}

ValueSpread SpreadTable::find(const SpreadRequest& request) {
  ValueSpread spread{.frame = frame_of(request)};
  for (std::size_t dim = 0; dim < request.shape.rank(); ++dim)
    if (std::ranges::find(spread.frame, static_cast<int>(dim)) == spread.frame.end())
      spread.scale *= request.shape[dim];
  if (is_identity(request)) {
    spread.set = request.writers[0].set;
    spread.cuts = request.writers[0].cuts;
    return spread;
  }
  spread.unit = units_of(request, spread.frame);
  SpreadRequest reduced = in_units(request, spread);
  for (std::int64_t unit : spread.unit) spread.scale *= unit;
  auto [known, is_new] = made_.try_emplace(key_of(reduced, spread));
  if (is_new)
    known->second =
        std::make_unique<const Moves>(expand(reduced, spread), Neighbourhood{processes_, nodes_});
  spread.moves = known->second.get();
  return spread;
}

std::vector<std::int64_t> SpreadTable::units_of(const SpreadRequest& request,
                                                const std::vector<int>& frame) {
  std::vector<std::int64_t> units;
  for (int dim : frame) {
    std::int64_t unit = request.shape[as_index(dim)];
    for (const std::vector<Participant>* side : {&request.writers, &request.readers})
      for (const Participant& each : *side)
        if (RangesId ranges = each.cuts[as_index(dim)].ranges; ranges != 0)
          unit = std::gcd(unit, divisor_of(ranges));
    units.push_back(std::max<std::int64_t>(unit, 1));
  }
  return units;
}

std::int64_t SpreadTable::divisor_of(RangesId ranges) {
  auto [known, is_new] = divisors_.try_emplace(ranges, 0);
  if (is_new)
    for (const Range& range : tables_.ranges(ranges))
      known->second = std::gcd(known->second, std::gcd(range.begin, range.end));
  return known->second;
}

SpreadRequest SpreadTable::in_units(SpreadRequest request, const ValueSpread& spread) {
  for (std::size_t at = 0; at < spread.frame.size(); ++at) {
    if (spread.unit[at] == 1) continue;
    auto dim = as_index(spread.frame[at]);
    request.shape[dim] /= spread.unit[at];
    for (std::vector<Participant>* side : {&request.writers, &request.readers})
      for (Participant& each : *side)
        if (RangesId& ranges = each.cuts[dim].ranges; ranges != 0)
          ranges = divided(ranges, spread.unit[at], request.shape[dim]);
  }
  return request;
}

RangesId SpreadTable::divided(RangesId ranges, std::int64_t unit, std::int64_t extent) {
  auto [known, is_new] = divided_.try_emplace({ranges, unit});
  if (is_new) {
    Ranges made = tables_.ranges(ranges);
    for (Range& range : made) range = {range.begin / unit, range.end / unit};
    known->second = tables_.ranges_id(made, extent);
  }
  return known->second;
}

ValueSpread SpreadTable::numbers(TileSetId set, const std::vector<std::int32_t>& terms) {
  ValueSpread spread{.set = set};
  std::int32_t count = *std::ranges::max_element(terms) + 1;
  if (count == 1) return spread;
  TableKey key{-1, set};
  key.insert(key.end(), terms.begin(), terms.end());
  auto [known, is_new] = made_.try_emplace(std::move(key));
  if (is_new) {
    RedistributionRequest request{.boxes = {Box{}}};
    std::vector<Touch> touches;
    for (std::int32_t device : tables_.set(set).device) touches.push_back({device, 0});
    request.from.push_back({.tiles = touches, .terms = terms, .term_count = count});
    request.readers.push_back(std::move(touches));
    known->second = std::make_unique<const Moves>(request, Neighbourhood{processes_, nodes_});
  }
  spread.moves = known->second.get();
  return spread;
}

RedistributionRequest SpreadTable::expand(const SpreadRequest& request,
                                          const ValueSpread& spread) const {
  RedistributionRequest made{.frame = extents_of(request.shape, spread.frame, spread.unit),
                             .greatest = request.greatest,
                             .fixed_order = request.fixed_order,
                             .merge_each = request.merge_each};
  BoxTable boxes({}, made.frame.dims);
  auto touches = [&](const Participant& participant) {
    const TileSet& set = tables_.set(participant.set);
    std::vector<Touch> all;
    all.reserve(set.device.size());
    for (std::int32_t tile = 0; tile < set.count(); ++tile) {
      Box box;
      for (std::size_t at = 0; at < spread.frame.size(); ++at) {
        auto dim = as_index(spread.frame[at]);
        Range range = range_of(tables_, participant.cuts[dim], set, tile, request.shape[dim]);
        box.begin[at] = static_cast<std::int32_t>(range.begin);
        box.end[at] = static_cast<std::int32_t>(range.end);
      }
      all.push_back({set.device[as_index(tile)], boxes.find_or_add(box)});
    }
    return all;
  };
  for (const Participant& writer : request.writers) {
    Contribution& from = made.from.emplace_back();
    from.tiles = touches(writer);
    from.shared = writer.shared;
    const TileSet& set = tables_.set(writer.set);
    from.terms.resize(from.tiles.size());
    for (AxisDigit axis : writer.partial_axes) {
      from.term_count *= axis.count;
      for (std::int32_t tile = 0; tile < set.count(); ++tile) {
        std::int32_t& term = from.terms[as_index(tile)];
        term = term * axis.count + set.part(tile, axis);
      }
    }
  }
  for (const Participant& reader : request.readers) made.readers.push_back(touches(reader));
  made.boxes = std::move(boxes).take();
  return made;
}

const PlaceGroups& SpreadTable::groups_of(const Participant& participant) {
  TableKey key{participant.set};
  for (const DimCut& cut : participant.cuts)
    if (cut.ranges != 0) key.insert(key.end(), {cut.ranges, cut.digit.stride, cut.digit.count});
  auto [known, is_new] = groups_.try_emplace(std::move(key));
  if (!is_new) return *known->second;
  auto made = std::make_unique<PlaceGroups>();
  const TileSet& set = tables_.set(participant.set);
  std::unordered_map<TableKey, std::int32_t, TableKeyHash> numbers;
  for (std::int32_t tile = 0; tile < set.count(); ++tile) {
    TableKey bounds;
    for (const DimCut& cut : participant.cuts) {
      if (cut.ranges == 0) continue;
      Range range = range_of(tables_, cut, set, tile, 0);
      bounds.insert(bounds.end(), {range.begin, range.end});
    }
    auto [number, is_first] =
        numbers.try_emplace(std::move(bounds), static_cast<std::int32_t>(numbers.size()));
    if (is_first) made->copies.push_back(0), made->first.push_back(tile);
    made->region.push_back(number->second);
    ++made->copies[as_index(number->second)];
  }
  known->second = std::move(made);
  return *known->second;
}

Region region_of(const TileTables& tables, const Participant& participant, std::int32_t tile,
                 const Shape& shape) {
  Region region;
  const TileSet& set = tables.set(participant.set);
  for (std::size_t dim = 0; dim < shape.rank(); ++dim)
    region.ranges.push_back(range_of(tables, participant.cuts[dim], set, tile, shape[dim]));
  return region;
}

Shape shape_of_tile(const TileTables& tables, const Participant& participant, std::int32_t tile,
                    const Shape& shape) {
  Shape made = shape;
  const TileSet& set = tables.set(participant.set);
  for (std::size_t dim = 0; dim < shape.rank(); ++dim)
    made[dim] = range_of(tables, participant.cuts[dim], set, tile, shape[dim]).extent();
  return made;
}

Participant SpreadTable::listed(const std::vector<std::int32_t>& devices,
                                const std::vector<Region>& regions, const Shape& shape) {
  Participant made{.set = tables_.listed_set(devices)};
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    Ranges ranges;
    for (const Region& region : regions) ranges.push_back(region[dim]);
    bool whole = std::ranges::all_of(ranges, [&](Range r) { return r == Range{0, shape[dim]}; });
    auto count = static_cast<std::int32_t>(devices.size());
    made.cuts.push_back(whole ? DimCut{}
                              : DimCut{{1, count}, tables_.ranges_id(ranges, shape[dim])});
  }
  return made;
}

Participant SpreadTable::places_for(const std::vector<Participant>& readers, const Shape& shape,
                                    Places which) {
  TROIKA_CHECK(!readers.empty(), "a value without readers");
  auto equals_first = [&](const Participant& reader) {
    return reader.set == readers[0].set && reader.cuts == readers[0].cuts;
  };
  if (std::ranges::all_of(readers, equals_first) && tables_.is_once_per_device(readers[0].set))
    return {.set = readers[0].set, .cuts = readers[0].cuts, .shared = true};
  std::vector<std::vector<Region>> needed(tables_.devices());
  for (const Participant& reader : readers) {
    const TileSet& set = tables_.set(reader.set);
    for (std::int32_t tile = 0; tile < set.count(); ++tile) {
      std::vector<Region>& own = needed[as_index(set.device[as_index(tile)])];
      Region region = region_of(tables_, reader, tile, shape);
      auto holds = [&](const Region& outer, const Region& inner) {
        return which == Places::largest ? contains(outer, inner) : outer == inner;
      };
      if (std::ranges::any_of(own, [&](const Region& has) { return holds(has, region); })) continue;
      std::erase_if(own, [&](const Region& has) { return holds(region, has); });
      own.push_back(std::move(region));
    }
  }
  std::vector<std::int32_t> devices;
  std::vector<Region> regions;
  for (std::size_t device = 0; device < needed.size(); ++device) {
    for (Region& region : needed[device]) {
      devices.push_back(static_cast<std::int32_t>(device));
      regions.push_back(std::move(region));
    }
  }
  Participant made = listed(devices, regions, shape);
  made.shared = true;
  return made;
}

}  // namespace troika
