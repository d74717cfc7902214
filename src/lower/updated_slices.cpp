#include "lower/updated_slices.h"

#include <algorithm>

#include "lower/communicate.h"
#include "lower/obtain.h"

namespace troika {
namespace {

/// The devices that store one region of a parameter.
using ReplicaGroup = std::vector<ValuePiece>;

std::vector<ReplicaGroup> replicas_of(const std::vector<ValuePiece>& slices) {
  std::vector<ReplicaGroup> groups;
  for (const ValuePiece& piece : slices) {
    auto same = std::ranges::find_if(groups, [&](const ReplicaGroup& group) {
      return group[0].place.region == piece.place.region;
    });
    if (same == groups.end())
      groups.push_back({piece});
    else
      same->push_back(piece);
  }
  return groups;
}

/// What has fewer elements than replicas is updated by all of them.
bool is_sliced(const Draft& draft, const ReplicaGroup& group) {
  return draft.request.strategy->sync.sliced_update && group.size() > 1 &&
         group[0].place.region.elements() >= std::ssize(group);
}

std::vector<Region> cut_among(const ReplicaGroup& group) {
  return cut_among(group[0].place.region, std::ssize(group));
}

/// Each owner's part of the region, as a view of what it stores.
void add_own_slices(Draft& draft, const ReplicaGroup& group, std::vector<UpdatedSlice>& slices) {
  std::vector<Region> parts = cut_among(group);
  std::int64_t begin = 0;
  for (std::size_t owner = 0; owner < group.size(); ++owner) {
    const ValuePiece& piece = group[owner];
    const BufferSpec stored = draft.tasks[piece.buffer];
    Placed place{parts[owner], piece.place.device};
    BufferId weight = add_buffer(draft, {stored.name + " own",
                                         {place.region.shape(), stored.spec.dtype},
                                         place.device,
                                         Category::parameter,
                                         piece.buffer,
                                         size_of(stored.spec.dtype) * begin});
    slices.push_back({place, piece.place.region, weight});
    begin += place.region.elements();
  }
}

}  // namespace

std::vector<UpdatedSlice> updated_slices(Draft& draft, std::size_t parameter) {
  std::vector<UpdatedSlice> slices;
  for (const ReplicaGroup& group : replicas_of(draft.slices[parameter])) {
    if (is_sliced(draft, group)) {
      add_own_slices(draft, group, slices);
    } else {
      for (const ValuePiece& piece : group)
        slices.push_back({piece.place, piece.place.region, piece.buffer});
    }
  }
  std::vector<Placed> places;
  for (const UpdatedSlice& slice : slices) places.push_back(slice.place);
  const std::string& name = draft.graph.parameters[parameter].name;
  std::vector<BufferId> gradients =
      obtain(draft, draft.parameter_gradients[parameter], places, "gradient " + name);
  for (std::size_t at = 0; at < slices.size(); ++at) slices[at].gradient = gradients[at];
  return slices;
}

void gather_slices(Draft& draft, std::size_t parameter) {
  const std::string& name = draft.graph.parameters[parameter].name;
  for (const ReplicaGroup& group : replicas_of(draft.slices[parameter])) {
    if (!is_sliced(draft, group)) continue;
    CommunicationRequest request{"update " + name, name, Collective::all_gather};
    std::int64_t begin = 0;
    for (const Region& part : cut_among(group)) {
      request.ranges.push_back({begin, begin + part.elements()});
      begin += part.elements();
    }
    for (const ValuePiece& piece : group) request.buffers.push_back(piece.buffer);
    add_communication(draft, request);
  }
}

std::vector<std::vector<Region>> count_once(const std::vector<UpdatedSlice>& slices) {
  std::vector<Region> regions;
  std::vector<std::vector<Region>> boxes, found;
  for (const UpdatedSlice& slice : slices) {
    auto same = std::ranges::find(regions, slice.place.region);
    auto at = static_cast<std::size_t>(same - regions.begin());
    if (same == regions.end()) {
      boxes.push_back(subtract(slice.place.region, regions));
      regions.push_back(slice.place.region);
    }
    found.push_back(boxes[at]);
  }
  return found;
}

std::vector<Region> cut_among(const Region& region, std::int64_t owners) {
  std::size_t dim = 0;
  while (dim + 1 < region.rank() && region[dim].extent() == 1) ++dim;
  std::int64_t rows = region[dim].extent();
  bool by_rows = rows >= owners || dim + 1 == region.rank();
  std::vector<Region> parts;
  for (std::int64_t at = 0; at < (by_rows ? owners : rows); ++at) {
    Range range = by_rows ? part_of(rows, at, owners) : Range{at, at + 1};
    Region part = region;
    part.ranges[dim] = {region[dim].begin + range.begin, region[dim].begin + range.end};
    if (by_rows)
      parts.push_back(part);
    else
      std::ranges::copy(cut_among(part, part_of(owners, at, rows).extent()),
                        std::back_inserter(parts));
  }
  return parts;
}

}  // namespace troika
