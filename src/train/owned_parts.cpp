#include "train/owned_parts.h"

#include "base/error.h"

namespace troika {
namespace {

class Division {
 public:
  Division(std::size_t entry, const StateEntry& tensor)
      : entry_(entry), places_(*tensor.places), lacking_(tensor.spec.shape.elements()) {}

  /// Places may repeat or overlap; each contributes the boxes that earlier ones do not cover.
  void divide(const std::function<void(OwnedPart)>& take) {
    for (std::size_t at = 0; at < places_.size() && lacking_ > 0; ++at) {
      // Replicas of a tensor start with another device each time, which balances the writing.
      const StoredPlace& place = places_[(at + entry_) % places_.size()];
      for (const RunBox& slice : boxes_of(place)) contribute(place.device, slice.box, take);
    }
    TROIKA_CHECK_EQ(lacking_, 0);
  }

 private:
  void contribute(DeviceId device, const Region& slice,
                  const std::function<void(OwnedPart)>& take) {
    // Slices of an update do not overlap, and there may be thousands of them.
    std::vector<Region> overlapping;
    for (const Region& other : taken_)
      if (!intersect(slice, other).empty()) overlapping.push_back(other);
    bool has_part = false;
    for (Region& box : subtract(slice, overlapping)) {
      has_part = true;
      lacking_ -= box.elements();
      take({entry_, std::move(box), device, slice});
    }
    if (has_part) taken_.push_back(slice);
  }

  const std::size_t entry_;
  const StoredPlaces& places_;
  std::int64_t lacking_;  // elements
  std::vector<Region> taken_;
};

}  // namespace

std::vector<OwnedPart> divide_state(const std::vector<StateEntry>& state,
                                    const std::function<bool(DeviceId)>& is_here) {
  std::vector<OwnedPart> parts;
  for (std::size_t at = 0; at < state.size(); ++at)
    Division(at, state[at]).divide([&](OwnedPart part) {
      if (is_here(part.device)) parts.push_back(std::move(part));
    });
  return parts;
}

void copy_part(const OwnedPart& part, std::span<const std::byte> slice,
               std::span<std::byte> bytes) {
  // The part's region counts from the start of the tensor, the bytes from that of the slice.
  Region inside = within(part.region, part.slice);
  // for_each_run visits the runs of the part that are contiguous in the slice, in row-major order,
  // so the copies follow each other in `bytes`.
  std::size_t size = bytes.size() / static_cast<std::size_t>(part.region.elements()), done = 0;
  for_each_run(part.slice.shape(), inside, [&](std::int64_t offset, std::int64_t length) {
    std::size_t count = static_cast<std::size_t>(length) * size;
    std::ranges::copy(slice.subspan(static_cast<std::size_t>(offset) * size, count),
                      bytes.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  });
}

}  // namespace troika
