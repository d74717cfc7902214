// The names in a folder of checkpoints: `step-N`, and the small files `latest` and `best` that
// point to one of them.
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

/// The steps that have a folder, newest first; none when there is no such folder. Says nothing
/// about their content.
std::vector<std::int64_t> list_steps(const std::filesystem::path& checkpoints);

/// What a marker file says: a step; or a fault, when it cannot be believed; or neither, when it is
/// not there.
struct Marker {
  std::optional<std::int64_t> step;
  std::string fault;
};

Marker read_marker(const std::filesystem::path& checkpoints, const char* name);

/// Atomic and synced.
void write_marker(const std::filesystem::path& checkpoints, const char* name, std::int64_t step);

}  // namespace troika
