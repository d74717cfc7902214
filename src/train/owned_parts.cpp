#include "train/owned_parts.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace troika {

std::vector<OwnedPart> divide_state(const std::vector<StateEntry>& entries,
                                    const std::vector<StoredSlice>& storage) {
  std::map<std::string, std::vector<StoredSlice>> slices;
  for (const StoredSlice& slice : storage) slices[slice.of].push_back(slice);
  std::vector<OwnedPart> parts;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    std::vector<StoredSlice>& own = slices.at(entries[at].name);
    // Replicas of a tensor start with another device each time, which balances the writing.
    std::ranges::rotate(own, own.begin() + static_cast<std::ptrdiff_t>(at % own.size()));
    std::vector<Region> taken;
    std::int64_t covered = 0;
    // Slices may repeat or overlap; each contributes the boxes that earlier ones do not cover.
    for (const StoredSlice& slice : own) {
      for (Region& box : subtract(slice.region, taken)) {
        covered += box.elements();
        parts.push_back({at, std::move(box), slice});
      }
      taken.push_back(slice.region);
    }
    TROIKA_CHECK_EQ(covered, entries[at].spec.shape.elements());
  }
  return parts;
}

void copy_part(const OwnedPart& part, std::span<const std::byte> slice,
               std::span<std::byte> bytes) {
  // The part's region counts from the start of the tensor, the bytes from that of the slice.
  Region inside = within(part.region, part.slice.region);
  // for_each_run visits the runs of the part that are contiguous in the slice, in row-major order,
  // so the copies follow each other in `bytes`.
  std::size_t size = bytes.size() / static_cast<std::size_t>(part.region.elements()), done = 0;
  for_each_run(part.slice.region.shape(), inside, [&](std::int64_t offset, std::int64_t length) {
    std::size_t count = static_cast<std::size_t>(length) * size;
    std::ranges::copy(slice.subspan(static_cast<std::size_t>(offset) * size, count),
                      bytes.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  });
}

}  // namespace troika
