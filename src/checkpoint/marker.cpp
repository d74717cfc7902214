#include "checkpoint/marker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/durable_file.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "checkpoint/index.h"

namespace troika {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStepPrefix = "step-";
// A marker has under 50 bytes; anything over a page is another file.
constexpr std::size_t kMaxMarker = 4096;

std::string step_name(std::int64_t step) { return fmt::format("{}{}", kStepPrefix, step); }

/// "step-40 CHECKSUM\n": readable, and any changed byte is detected.
std::string marker_text(std::int64_t step) {
  const std::string name = step_name(step);
  return fmt::format("{} {}\n", name, hex(checksum(std::as_bytes(std::span(name)))));
}

/// Accepts only what `step_name` returns: not step-007, not step-4.partial-17.
std::optional<std::int64_t> parse_step(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
  // from_chars stops at the first other character; the comparison refuses what is left.
  return step >= 0 && step_name(step) == name ? std::optional(step) : std::nullopt;
}

}  // namespace

fs::path step_folder(const fs::path& checkpoints, std::int64_t step) {
  return checkpoints / step_name(step);
}

std::vector<std::int64_t> list_steps(const fs::path& checkpoints) {
  std::vector<std::int64_t> steps;
  std::error_code status;
  if (!fs::exists(checkpoints, status)) return steps;
  for (fs::directory_iterator at(checkpoints, status), end; !status && at != end;
       at.increment(status)) {
    if (const auto step = parse_step(at->path().filename().string())) steps.push_back(*step);
  }
  if (status) throw file_error("list the folder", checkpoints, status.value());
  std::ranges::sort(steps, std::greater{});
  return steps;
}

Marker read_marker(const fs::path& checkpoints, const char* name) {
  const fs::path path = checkpoints / name;
  std::error_code status;
  if (!fs::exists(path, status)) return {};
  try {
    const std::string text = read_small_file(path, kMaxMarker);
    const auto step = parse_step(std::string_view(text).substr(0, text.find(' ')));
    // Compared as text, so that the checksum and the form are checked at once.
    if (step && marker_text(*step) == text) return {.step = step, .fault = {}};
    return {.step = {},
            .fault = fmt::format("'{}' is damaged: its checksum does not match", path.string())};
  } catch (const Error& unreadable) {
    return {.step = {}, .fault = unreadable.what()};
  }
}

void write_marker(const fs::path& checkpoints, const char* name, std::int64_t step) {
  replace_file(checkpoints / name, marker_text(step));
}

}  // namespace troika
