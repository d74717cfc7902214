#include "checkpoint/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/durable_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/marker.h"

namespace troika {

namespace fs = std::filesystem;

namespace {

// Stands for an unreadable `latest`: no checkpoint counts as later.
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::string missing_latest(const fs::path& checkpoints, const Marker& latest) {
  return latest.fault.empty() ? fmt::format("'{}' is missing", (checkpoints / kLatest).string())
                              : latest.fault;
}

/// A warning if there are checkpoints later than the intact one that `latest` names.
std::string note_later(const fs::path& checkpoints, std::int64_t latest) {
  const std::vector<std::int64_t> steps = list_steps(checkpoints);
  if (steps.empty() || steps.front() <= latest) return {};
  return fmt::format(
      "'{}' is later than step {}, which `latest` names; to resume from it, give its path",
      step_folder(checkpoints, steps.front()).string(), latest);
}

/// Newest first, but those later than `latest` last: they are from before a rewind.
std::vector<std::int64_t> in_order_of_trust(std::vector<std::int64_t> steps, std::int64_t latest) {
  std::ranges::stable_partition(steps, [&](std::int64_t step) { return step <= latest; });
  return steps;
}

FoundCheckpoint scan(const fs::path& checkpoints, std::int64_t latest, std::string why) {
  for (std::int64_t step : in_order_of_trust(list_steps(checkpoints), latest)) {
    const fs::path folder = step_folder(checkpoints, step);
    const std::optional<std::string> fault = checkpoint_fault(folder);
    if (!fault)
      return {folder, fmt::format("{}; using '{}', the newest intact one", why, folder.string())};
    // The message tells why each newer checkpoint was passed over.
    why += "; " + *fault;
  }
  throw Error(ErrorKind::file,
              fmt::format("{}; no checkpoint in '{}' is intact: restore one from a "
                          "copy, or train again from the start",
                          why, checkpoints.string()));
}

}  // namespace

std::optional<FoundCheckpoint> find_newest_checkpoint(const fs::path& checkpoints) {
  // No marker and no folder is a new run; folders without a marker are one that lost its marker.
  const Marker latest = read_marker(checkpoints, kLatest);
  if (!latest.step && list_steps(checkpoints).empty()) return std::nullopt;
  if (!latest.step) return scan(checkpoints, kNoLimit, missing_latest(checkpoints, latest));
  const fs::path folder = step_folder(checkpoints, *latest.step);
  if (!checkpoint_fault(folder))
    return FoundCheckpoint{folder, note_later(checkpoints, *latest.step)};
  return scan(checkpoints, *latest.step,
              fmt::format("`latest` names step {}, which cannot be loaded", *latest.step));
}

std::optional<fs::path> find_best_checkpoint(const fs::path& checkpoints) {
  const Marker best = read_marker(checkpoints, kBest);
  if (!best.fault.empty())
    throw Error(ErrorKind::file, best.fault + "; give the path of a checkpoint");
  if (!best.step) return std::nullopt;
  const fs::path folder = step_folder(checkpoints, *best.step);
  // There is no fallback, unlike for `latest`: another checkpoint would not be the best.
  Checkpoint::open(folder).verify_all();
  return folder;
}

void rewind_to_best_checkpoint(const fs::path& checkpoints) {
  const Marker best = read_marker(checkpoints, kBest);
  TROIKA_CHECK(best.step);
  write_marker(checkpoints, kLatest, *best.step);
}

void mark_best_checkpoint(const fs::path& checkpoints, std::int64_t step) {
  TROIKA_CHECK(fs::exists(step_folder(checkpoints, step)));
  write_marker(checkpoints, kBest, step);
}

std::string retain_checkpoints(const fs::path& checkpoints, std::size_t keep) {
  TROIKA_CHECK(keep >= 1);
  const Marker best = read_marker(checkpoints, kBest);
  // Without a readable `best` we do not know which checkpoint must stay.
  if (!best.fault.empty())
    return best.fault + "; no checkpoint is removed until a new best one is marked";
  const std::int64_t latest = read_marker(checkpoints, kLatest).step.value_or(kNoLimit);
  std::size_t kept = 0;
  for (std::int64_t step : list_steps(checkpoints)) {
    // The order matters: those later than `latest` do not use up `keep`, but the best one does if
    // it is among the newest.
    if (step > latest || kept++ < keep || step == best.step) continue;
    remove_folder(step_folder(checkpoints, step));
  }
  return {};
}

}  // namespace troika
