#include "machine/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/number_text.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// cgroup v1 has no word for "unlimited": it writes the largest multiple of a page, just below
/// 2^63. No computer has as much as this.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

std::string text_of(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) return {};
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool lists(const std::string& comma_separated, std::string_view word) {
  return std::ranges::count(split_at(comma_separated, ','), word) > 0;
}

/// Unset for "max", "-1" and whatever else is not a positive number.
std::optional<std::int64_t> number_in(std::string_view text) {
  std::optional<std::int64_t> number = take_number<std::int64_t>(text);
  return number && *number > 0 ? number : std::nullopt;
}

/// The value of a line "key value", as in memory.stat and cpu.stat; 0 if there is none.
std::int64_t statistic(const fs::path& file, std::string_view key) {
  for (const std::string& line : split_at(text_of(file), '\n'))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      return number_in(std::string_view(line).substr(key.size() + 1)).value_or(0);
  return 0;
}

/// The mount point of a hierarchy. `root` is the group of its top folder, in a container often the
/// container's own group.
struct CgroupMount {
  fs::path folder;
  std::string root;
};

/// A line of mountinfo: ID PARENT DEVICE ROOT FOLDER OPTIONS [TAGS …] - TYPE SOURCE SUPER_OPTIONS.
std::optional<CgroupMount> parse_mount(const std::string& line, std::string_view controller) {
  std::size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  std::vector<std::string> before = split_at(line.substr(0, dash), ' '),
                           after = split_at(line.substr(dash + 3), ' ');
  if (before.size() < 5 || after.size() < 3) return std::nullopt;
  bool fits = controller.empty() ? after[0] == "cgroup2"
                                 : after[0] == "cgroup" && lists(after[2], controller);
  return fits ? std::optional(CgroupMount{before[4], before[3]}) : std::nullopt;
}

/// This process's path in the hierarchy of a v1 controller, or of v2 for an empty one.
std::optional<std::string> path_of_group(const fs::path& root, std::string_view controller) {
  for (const std::string& line : split_at(text_of(root / "proc/self/cgroup"), '\n')) {
    // A line is ID:CONTROLLERS:PATH; v2 has the ID 0 and no controllers.
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool fits = controller.empty() ? controllers.empty() && line.starts_with("0:")
                                   : lists(controllers, controller);
    if (fits) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The folders of this process's group and of those above it, innermost first. A group outside of
/// what is mounted is seen from the top of the mount.
std::vector<fs::path> folders_of_groups(const fs::path& root, std::string_view controller) {
  std::optional<std::string> path = path_of_group(root, controller);
  if (!path) return {};
  for (const std::string& line : split_at(text_of(root / "proc/self/mountinfo"), '\n')) {
    std::optional<CgroupMount> mount = parse_mount(line, controller);
    if (!mount) continue;
    fs::path top = root / mount->folder.relative_path();
    fs::path below = fs::path(*path).lexically_relative(mount->root);
    std::vector<fs::path> folders{top};
    if (!below.empty() && *below.begin() != "..") {
      for (const fs::path& part : below)
        if (part != "." && !part.empty()) folders.push_back(folders.back() / part);
    }
    return {folders.rbegin(), folders.rend()};
  }
  return {};
}

/// Device and inode: paths are equal in all containers.
std::string identity_of(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return folder.string();
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

void tighten(std::optional<MemoryLimit>& tightest, const fs::path& file,
             std::string_view anonymous) {
  std::optional<std::int64_t> bytes = number_in(text_of(file));
  if (!bytes || *bytes >= kUnlimited) return;
  fs::path folder = file.parent_path();
  // Compared by what is left: an outer group with a higher limit may be nearly full with others.
  MemoryLimit limit{
      {*bytes}, {statistic(folder / "memory.stat", anonymous)}, file.string(), identity_of(folder)};
  if (!tightest || limit.left() < tightest->left()) tightest = limit;
}

void tighten(std::optional<CoreLimit>& tightest, const fs::path& file,
             std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period) return;
  double cores = static_cast<double>(*quota) / static_cast<double>(*period);
  if (!tightest || cores < tightest->cores)
    tightest = CoreLimit{cores, file.string(), identity_of(file.parent_path())};
}

/// A v2 group slows down to a crawl above memory.high, so that is a limit as well.
void read_v2(const fs::path& root, CgroupLimits& limits) {
  for (const fs::path& folder : folders_of_groups(root, "")) {
    tighten(limits.memory, folder / "memory.max", "anon");
    tighten(limits.memory, folder / "memory.high", "anon");
    // "QUOTA PERIOD" in microseconds, or "max PERIOD".
    std::vector<std::string> words = split_at(text_of(folder / "cpu.max"), ' ');
    if (words.size() == 2)
      tighten(limits.cores, folder / "cpu.max", number_in(words[0]), number_in(words[1]));
  }
}

void read_v1(const fs::path& root, CgroupLimits& limits) {
  for (const fs::path& folder : folders_of_groups(root, "memory"))
    tighten(limits.memory, folder / "memory.limit_in_bytes", "total_rss");
  for (const fs::path& folder : folders_of_groups(root, "cpu"))
    tighten(limits.cores, folder / "cpu.cfs_quota_us",
            number_in(text_of(folder / "cpu.cfs_quota_us")),
            number_in(text_of(folder / "cpu.cfs_period_us")));
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;  // a computer may have both: each controller is in one of them
  read_v2(root, limits);
  read_v1(root, limits);
  return limits;
}

std::chrono::nanoseconds throttled_time(const fs::path& root) {
  std::chrono::nanoseconds time{};
  for (const fs::path& folder : folders_of_groups(root, ""))
    // v2 counts microseconds, v1 nanoseconds.
    time += std::chrono::microseconds(statistic(folder / "cpu.stat", "throttled_usec"));
  for (const fs::path& folder : folders_of_groups(root, "cpu"))
    time += std::chrono::nanoseconds(statistic(folder / "cpu.stat", "throttled_time"));
  return time;
}

std::optional<Bytes> address_space_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnlimited))};
}

}  // namespace troika
