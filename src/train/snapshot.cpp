#include "train/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/retention.h"
#include "checkpoint/save.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string to_meta(const RunState& state) {
  Json json{{"step", state.step},
            {"position", state.position},
            {"seed", state.seed},
            {"model_hash", state.model_hash},
            {"choices_hash", state.choices_hash},
            {"device", state.device}};
  if (state.has_best) json["best_value"] = state.best_value;
  return json.dump();
}

std::vector<std::byte> buffer_for(const TensorSpec& spec) {
  return std::vector<std::byte>(static_cast<std::size_t>(spec.bytes().count));
}

/// Every tensor that the model has is checked by one of the ranks.
void check_share(const Checkpoint& checkpoint, const LiveModel& live) {
  const Ranks* ranks = live.machinery().ranks;
  std::vector<StateEntry> entries = live.session().state();
  std::size_t step = ranks != nullptr ? static_cast<std::size_t>(ranks->count()) : 1;
  for (auto at = static_cast<std::size_t>(live.machinery().rank()); at < entries.size(); at += step)
    checkpoint.check(entries[at].name);
}

Writers writers_of(Ranks* ranks) {
  if (ranks == nullptr) return {};
  return {ranks->rank(), ranks->count(),
          [ranks](const std::string& text) { return ranks->exchange(text); }};
}

/// A part of the state that this process writes, from a slice that a device here has.
struct OwnedPart {
  std::size_t entry = 0;
  Region region;
  StoredSlice slice;
};

/// The boxes of `region` that are in none of `taken`.
std::vector<Region> remove_all(const Region& region, const std::vector<Region>& taken) {
  std::vector<Region> left{region};
  for (const Region& other : taken) {
    std::vector<Region> next;
    for (const Region& box : left) {
      if (contains(other, box)) continue;
      for (Region& rest : subtract(box, other)) next.push_back(std::move(rest));
    }
    left = std::move(next);
  }
  return left;
}

/// Each element of the state has one owner among the slices that have it. Which replica that is
/// goes round from tensor to tensor, so that ranks write about equally much.
std::vector<OwnedPart> owned_parts(const Session& session) {
  std::map<std::string, std::vector<StoredSlice>> slices;
  for (const StoredSlice& slice : session.storage()) slices[slice.of].push_back(slice);
  std::vector<OwnedPart> owned;
  std::vector<StateEntry> entries = session.state();
  for (std::size_t at = 0; at < entries.size(); ++at) {
    std::vector<StoredSlice>& own = slices.at(entries[at].name);
    std::ranges::rotate(own, own.begin() + static_cast<std::ptrdiff_t>(at % own.size()));
    std::vector<Region> taken;
    std::int64_t covered = 0;
    for (const StoredSlice& slice : own) {
      for (const Region& box : remove_all(slice.region, taken)) {
        covered += box.elements();
        if (session.is_here(slice.device)) owned.push_back({at, box, slice});
      }
      taken.push_back(slice.region);
    }
    TROIKA_CHECK_EQ(covered, entries[at].spec.shape.elements());
  }
  return owned;
}

void read_part(Session& session, const OwnedPart& part, std::vector<std::byte>& slice,
               std::span<std::byte> bytes) {
  if (part.region == part.slice.region) return session.store(part.slice, bytes);
  Shape shape = part.slice.region.shape();
  auto size = static_cast<std::int64_t>(bytes.size()) / part.region.elements();
  slice.resize(static_cast<std::size_t>(shape.elements() * size));
  session.store(part.slice, slice);
  Region inside = part.region;
  for (std::size_t dim = 0; dim < inside.rank(); ++dim) {
    inside.ranges[dim].begin -= part.slice.region[dim].begin;
    inside.ranges[dim].end -= part.slice.region[dim].begin;
  }
  std::size_t done = 0;
  for_each_run(shape, inside, [&](std::int64_t offset, std::int64_t length) {
    auto count = static_cast<std::size_t>(length * size);
    std::ranges::copy(std::span(slice).subspan(static_cast<std::size_t>(offset * size), count),
                      bytes.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  });
}

}  // namespace

void save_state(const fs::path& checkpoints, LiveModel& live, const RunState& state) {
  Session& session = live.session();
  Snapshot snapshot{.step = state.step, .meta_json = to_meta(state)};
  for (const StateEntry& entry : session.state()) {
    SnapshotTensor tensor{entry.name, entry.spec};
    if (entry.category == Category::optimizer) tensor.file = "optimizer.safetensors";
    snapshot.tensors.push_back(tensor);
  }
  std::vector<OwnedPart> owned = owned_parts(session);
  snapshot.parts.emplace();
  for (const OwnedPart& part : owned) snapshot.parts->push_back({part.entry, part.region});
  std::vector<std::byte> slice;
  snapshot.read = [&](std::size_t index, std::span<std::byte> bytes) {
    read_part(session, owned[index], slice, bytes);
  };
  save_checkpoint(checkpoints, snapshot, writers_of(live.machinery().ranks));
}

RunState read_state(const Checkpoint& checkpoint) {
  try {
    Json json = Json::parse(checkpoint.meta_json());
    RunState state{.step = json.at("step"),
                   .position = json.at("position"),
                   .seed = json.at("seed"),
                   .model_hash = json.at("model_hash"),
                   .choices_hash = json.at("choices_hash"),
                   .device = json.at("device")};
    state.has_best = json.contains("best_value");
    if (state.has_best) state.best_value = json["best_value"];
    return state;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file,
                fmt::format("the checkpoint was not written by a training run: {}", error.what()));
  }
}

RunState load_state(const Checkpoint& checkpoint, LiveModel& live) {
  for (const StateEntry& entry : live.session().state()) {
    const IndexedTensor* stored = checkpoint.find(entry.name);
    if (stored == nullptr)
      throw Error(
          ErrorKind::file,
          fmt::format("the checkpoint has no tensor '{}'; was the model or the optimizer changed? "
                      "--from starts a new run from its weights",
                      entry.name));
    if (stored->spec != entry.spec)
      throw Error(ErrorKind::file,
                  fmt::format("'{}' is {} in the checkpoint but {} in the model", entry.name,
                              to_string(stored->spec), to_string(entry.spec)));
  }
  check_share(checkpoint, live);
  for (const StateEntry& entry : live.session().state())
    live.session().load(entry.name, checkpoint.bytes(entry.name));
  return read_state(checkpoint);
}

void copy_state(LiveModel& from, LiveModel& to) {
  for (const StateEntry& entry : to.session().state()) {
    std::vector<std::byte> bytes = buffer_for(entry.spec);
    from.session().store(entry.name, bytes);
    to.session().load(entry.name, bytes);
  }
}

fs::path find_checkpoint(const fs::path& path) {
  if (fs::exists(path / "index.json")) return path;
  for (const fs::path& folder : {path / "checkpoints", path}) {
    if (!fs::is_directory(folder)) continue;
    if (auto found = find_newest_checkpoint(folder)) return found->folder;
  }
  throw Error(ErrorKind::file,
              fmt::format("{} is no checkpoint, and there is none below it", path.string()));
}

std::vector<std::string> load_weights(const fs::path& source, LiveModel& live) {
  // The bytes of a tensor, mapped, if it is there with this spec.
  std::function<std::optional<std::span<const std::byte>>(const StateEntry&)> find;
  std::optional<SafetensorsFile> file;
  std::optional<Checkpoint> checkpoint;
  if (source.extension() == ".safetensors") {
    file.emplace(source);
    find = [&](const StateEntry& entry) -> std::optional<std::span<const std::byte>> {
      const StoredTensor* stored = file->find(entry.name);
      if (stored == nullptr || stored->shape != entry.spec.shape) return std::nullopt;
      return file->bytes(TensorEntry{entry.name, entry.spec});
    };
  } else {
    checkpoint.emplace(Checkpoint::open(find_checkpoint(source)));
    find = [&](const StateEntry& entry) -> std::optional<std::span<const std::byte>> {
      const IndexedTensor* stored = checkpoint->find(entry.name);
      if (stored == nullptr || stored->spec != entry.spec) return std::nullopt;
      checkpoint->check(entry.name);
      return checkpoint->bytes(entry.name);
    };
  }
  std::vector<std::string> rest;
  for (const StateEntry& entry : live.session().state()) {
    if (entry.category != Category::parameter) continue;
    if (auto bytes = find(entry))
      live.session().load(entry.name, *bytes);
    else
      rest.push_back(entry.name);
  }
  return rest;
}

}  // namespace troika
