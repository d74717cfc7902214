// The entries of a folder of checkpoints: `step-N`, and the small files `latest` and `best`, which
// name one of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troika {

inline constexpr const char* kLatest = "latest";
inline constexpr const char* kBest = "best";

/// CHECKPOINTS/step-N
std::filesystem::path step_folder(const std::filesystem::path& checkpoints, std::int64_t step);

/// Returns the steps that have a folder, newest first. Does not check their content.
std::vector<std::int64_t> list_steps(const std::filesystem::path& checkpoints);

/// The content of a marker file: a step, or a fault if the file is damaged, or neither if it does
/// not exist.
struct Marker {
  std::optional<std::int64_t> step;
  std::string fault;
};

Marker read_marker(const std::filesystem::path& checkpoints, const char* name);

/// Replaces the marker atomically and syncs it.
void write_marker(const std::filesystem::path& checkpoints, const char* name, std::int64_t step);

}  // namespace troika
