#include "train/snapshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "checkpoint/retention.h"
#include "checkpoint/save.h"
#include "train/encoding_json.h"
#include "train/owned_parts.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string to_meta(const RunState& state) {
  Json json{{"step", state.step},           {"position", state.position},
            {"seed", state.seed},           {"model_hash", state.model_hash},
            {"plan_hash", state.plan_hash}, {"choices_hash", state.choices_hash},
            {"device", state.device},       {"seconds", state.seconds}};
  // Keys that do not apply are left out, as they are in checkpoints of versions that lacked them.
  if (!state.held_out.empty()) json["held_out"] = state.held_out;
  if (!state.best_metric.empty()) json["best_metric"] = state.best_metric;
  if (state.best_value) json["best_value"] = *state.best_value;
  if (state.evaluations_since_best > 0)
    json["evaluations_since_best"] = state.evaluations_since_best;
  if (!state.run.empty()) json["run"] = state.run;
  if (state.window) json["window"] = *state.window;
  if (state.samples) json["samples"] = Json::parse(to_json(*state.samples));
  return json.dump();
}

std::vector<std::byte> buffer_for(const TensorSpec& spec) {
  return std::vector<std::byte>(static_cast<std::size_t>(spec.bytes().count));
}

/// Verifies the checksums of this rank's share. Each tensor is checked by one rank, so that loading
/// does not read the whole file on all of them.
void check_share(const Checkpoint& checkpoint, const LiveModel& live) {
  const Ranks& ranks = *live.setup().ranks;
  std::vector<StateEntry> entries = live.session().state();
  auto step = static_cast<std::size_t>(ranks.count());
  for (auto at = static_cast<std::size_t>(ranks.rank()); at < entries.size(); at += step)
    checkpoint.check(entries[at].name);
}

StoredSlice slice_of(const Session& session, const OwnedPart& part) {
  for (StoredSlice& slice : session.slices_here(session.state()[part.entry].name))
    if (slice.device == part.device && slice.region == part.slice) return std::move(slice);
  throw Bug("a part of the state that no device here stores");
}

Writers writers_of(Ranks& ranks) {
  return {ranks.rank(), ranks.count(),
          [&ranks](const std::string& text) { return ranks.exchange(text); }};
}

fs::path find_best(const fs::path& path) {
  if (fs::is_regular_file(path) || fs::exists(path / "index.json"))
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is not a run folder, so it has no best checkpoint to choose; "
                            "leave out --best",
                            path.string()));
  for (const fs::path& folder : {path / "checkpoints", path})
    if (auto found = find_best_checkpoint(folder)) return *found;
  throw Error(ErrorKind::file,
              fmt::format("'{}' has no best checkpoint; a run keeps one if checkpoint.best names a "
                          "metric, such as \"test_accuracy\", or train.patience is set",
                          path.string()));
}

bool is_plain_file(const fs::path& weights) { return weights.extension() == ".safetensors"; }

std::string describe(const std::optional<data::Normalization>& targets) {
  if (!targets) return "not normalised";
  return fmt::format("normalised with mean {} and deviation {}", fmt::join(targets->mean, ", "),
                     targets->deviation.front());
}

/// The unit of the targets is part of the weights: the output layer predicts normalised numbers.
void require_same_unit(const Checkpoint& checkpoint, const data::Encoding& samples) {
  data::Encoding trained = read_state(checkpoint).samples.value_or(data::Encoding{});
  if (!data::predict_alike(trained, samples) ||
      trained.target_normalization == samples.target_normalization)
    return;
  throw Error(
      ErrorKind::usage,
      fmt::format("the weights were trained on targets that are {}, but those of these samples are "
                  "{}; use troika train --from with data.normalize = \"auto\", which keeps the "
                  "unit of the weights, or scale the targets yourself and give the checkpoint's "
                  "model.safetensors",
                  describe(trained.target_normalization), describe(samples.target_normalization)));
}

}  // namespace

void save_state(const fs::path& checkpoints, LiveModel& live, const RunState& state) {
  Session& session = live.session();
  Snapshot snapshot{.step = state.step, .meta_json = to_meta(state)};
  for (const StateEntry& entry : session.state()) {
    SnapshotTensor tensor{.name = entry.name, .spec = entry.spec, .merged = entry.merged};
    // Apart from the weights, so that model.safetensors can be used alone.
    if (entry.category == Category::optimizer) tensor.file = "optimizer.safetensors";
    snapshot.tensors.push_back(tensor);
  }
  // Written part by part, straight from the slices that devices store: a tensor may be larger than
  // the memory of one process, and ranks write their parts at the same time.
  std::vector<OwnedPart> owned =
      divide_state(session.state(), [&](DeviceId device) { return session.is_here(device); });
  snapshot.parts.emplace();
  for (const OwnedPart& part : owned) snapshot.parts->push_back({part.entry, part.region});
  std::vector<std::byte> slice;
  snapshot.read = [&](std::size_t index, std::span<std::byte> bytes) {
    const OwnedPart& part = owned[index];
    StoredSlice stored = slice_of(session, part);
    // A device's slice may be larger than the part that this rank writes, because slices of
    // replicas overlap. Then the part is cut out of a copy of the slice.
    if (part.region == part.slice) return session.store(stored, bytes);
    std::int64_t size = size_of(snapshot.tensors[part.entry].spec.dtype).count;
    slice.resize(static_cast<std::size_t>(part.slice.elements() * size));
    session.store(stored, slice);
    copy_part(part, slice, bytes);
  };
  save_checkpoint(checkpoints, snapshot, writers_of(*live.setup().ranks));
}

RunState read_state(const Checkpoint& checkpoint) {
  try {
    Json json = Json::parse(checkpoint.meta_json());
    RunState state{.step = json.at("step"),
                   .position = json.at("position"),
                   .seed = json.at("seed"),
                   .model_hash = json.at("model_hash"),
                   .plan_hash = json.value("plan_hash", ""),
                   .choices_hash = json.at("choices_hash"),
                   .device = json.at("device")};
    // Keys from here on were added later; checkpoints without them stay readable.
    state.seconds = json.value("seconds", 0.0);
    state.held_out = json.value("held_out", "");
    state.best_metric = json.value("best_metric", "");
    if (json.contains("best_value")) state.best_value = json["best_value"];
    state.evaluations_since_best = json.value("evaluations_since_best", std::int64_t{0});
    state.run = json.value("run", "");
    if (json.contains("window")) state.window = json["window"];
    if (json.contains("samples")) state.samples = parse_encoding(json["samples"].dump());
    return state;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file, fmt::format("the checkpoint was not written by a training run: {}",
                                             json_reason(error.what())));
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
    if (stored->spec != file_spec(entry))
      throw Error(
          ErrorKind::file,
          fmt::format("'{}' is {} in the checkpoint but {} in the model; --from starts a new "
                      "run from the weights that fit",
                      entry.name, to_string(stored->spec), to_string(file_spec(entry))));
  }
  // All checks come before the first load, so that an error leaves the model unchanged.
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

fs::path find_checkpoint(const fs::path& path, Pick pick) {
  if (pick == Pick::best) return find_best(path);
  if (fs::exists(path / "index.json")) return path;
  for (const fs::path& folder : {path / "checkpoints", path}) {
    if (!fs::is_directory(folder)) continue;
    if (auto found = find_newest_checkpoint(folder)) return found->folder;
  }
  throw Error(ErrorKind::file,
              fmt::format("'{}' is not a checkpoint and does not contain one; check the path",
                          path.string()));
}

fs::path find_weights(const fs::path& path, Pick pick) {
  return pick == Pick::newest && is_plain_file(path) ? path : find_checkpoint(path, pick);
}

std::optional<data::Encoding> encoding_of_weights(const fs::path& weights) {
  if (is_plain_file(weights)) return std::nullopt;
  return read_state(Checkpoint::open(weights)).samples.value_or(data::Encoding{});
}

std::vector<std::string> load_weights(const fs::path& source, LiveModel& live,
                                      const data::Encoding& samples) {
  // Returns the mapped bytes of a tensor if the source has it with this spec.
  std::function<std::optional<std::span<const std::byte>>(const StateEntry&)> find;
  std::optional<SafetensorsFile> file;
  std::optional<Checkpoint> checkpoint;
  if (is_plain_file(source)) {
    file.emplace(source);
    find = [&](const StateEntry& entry) -> std::optional<std::span<const std::byte>> {
      const StoredTensor* stored = file->find(entry.name);
      if (stored == nullptr || stored->shape != file_spec(entry).shape) return std::nullopt;
      return file->bytes(TensorEntry{entry.name, file_spec(entry)});
    };
  } else {
    checkpoint.emplace(Checkpoint::open(find_checkpoint(source)));
    require_same_unit(*checkpoint, samples);
    find = [&](const StateEntry& entry) -> std::optional<std::span<const std::byte>> {
      const IndexedTensor* stored = checkpoint->find(entry.name);
      if (stored == nullptr || stored->spec != file_spec(entry)) return std::nullopt;
      // A tensor is verified only if it is used: the optimizer's state is not loaded here.
      checkpoint->check(entry.name);
      return checkpoint->bytes(entry.name);
    };
  }
  std::vector<std::string> rest;
  for (const StateEntry& entry : live.session().state()) {
    // Moments belong to the course of the other run.
    if (entry.category != Category::parameter) continue;
    if (auto bytes = find(entry))
      live.session().load(entry.name, *bytes);
    else
      rest.push_back(entry.name);
  }
  return rest;
}

}  // namespace troika
