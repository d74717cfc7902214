#include "taskgraph/storage.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace troika {

std::string_view to_string(Category category) {
  constexpr std::array<std::string_view, 5> kNames{"parameters", "gradients", "optimizer",
                                                   "activations", "workspace"};
  return kNames[static_cast<std::size_t>(category)];
}

bool StateEntry::operator==(const StateEntry& other) const {
  return name == other.name && spec == other.spec && category == other.category &&
         merged == other.merged && (places == other.places || *places == *other.places);
}

TensorSpec file_spec(const StateEntry& tensor) {
  return {tensor.spec.shape.merged(tensor.merged), tensor.spec.dtype};
}

std::vector<RunBox> boxes_of(const StoredPlace& place) {
  if (place.run) return boxes_of_run(place.region, *place.run);
  return {{place.region, 0}};
}

const StateEntry* find_entry(const std::vector<StateEntry>& storage, const std::string& name) {
  auto found = std::ranges::find(storage, name, &StateEntry::name);
  return found == storage.end() ? nullptr : &*found;
}

const StoredPlace* find_place(const StateEntry& tensor, DeviceId device, const Region& region) {
  const std::vector<StoredPlace>& places = *tensor.places;
  auto place = std::ranges::lower_bound(places, device, {}, &StoredPlace::device);
  for (; place != places.end() && place->device == device; ++place)
    if (place->region == region) return &*place;
  return nullptr;
}

void add_entries(std::vector<StateEntry>& known, const std::vector<StateEntry>& more) {
  std::unordered_set<std::string> names;
  for (const StateEntry& tensor : known) names.insert(tensor.name);
  for (const StateEntry& tensor : more)
    if (names.insert(tensor.name).second) known.push_back(tensor);
}

}  // namespace troika
