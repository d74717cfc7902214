// Limits that the system sets for this process: control groups (v1 and v2) and the address space.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/units.h"

namespace troika {

/// The limit of one control group. Processes on one computer with an equal `group` share it.
struct MemoryLimit {
  Bytes limit{};
  Bytes in_use{};  ///< Anonymous memory of all processes in the group, which cannot be reclaimed.
  std::string file;
  std::string group;

  Bytes left() const { return limit > in_use ? limit - in_use : Bytes{}; }
};

struct CoreLimit {
  double cores = 0;  ///< CPU time per wall time: quota / period.
  std::string file;
  std::string group;
};

struct CgroupLimits {
  std::optional<MemoryLimit> memory;  ///< Unset: no group has a limit.
  std::optional<CoreLimit> cores;
};

/// The tightest limits of the groups that this process is in and of the groups above them. Reads
/// /proc/self/{cgroup,mountinfo} and the hierarchies mounted there, all below `root`. Files that
/// are missing or unreadable set no limit.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

/// The total time for which those groups have throttled this process because its quota was used up.
std::chrono::nanoseconds throttled_time(const std::filesystem::path& root = "/");

/// RLIMIT_AS; unset if it is unlimited.
std::optional<Bytes> address_space_limit();

}  // namespace troika
