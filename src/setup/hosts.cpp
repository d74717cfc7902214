#include "setup/hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "base/cores.h"
#include "device/cpu/cpu_device.h"
#include "machine/computer.h"
#include "machine/limits.h"

namespace troika {
namespace {

/// Memory reserved per process, in addition to its devices and to what it holds when it reads its
/// limits: oneDNN's code, stacks, batches being read, files being written.
constexpr Bytes kOwnNeeds{std::int64_t{24} << 20};

/// A limit of a control group, divided among its devices.
struct SharedAmount {
  std::int64_t amount = 0;
  int processes = 0, devices = 0;

  void add(std::int64_t stated, int more) {
    // Ranks read what is left at different moments; the smallest amount is safe for all.
    amount = devices == 0 ? stated : std::min(amount, stated);
    ++processes;
    devices += more;
  }
  /// Returns a device's share of the amount left after each process has taken `own`; at least 1,
  /// because 0 means that the amount is not known.
  std::int64_t per_device(std::int64_t own = 0) const {
    return std::max<std::int64_t>(1, (amount - processes * own) / devices);
  }
};
using GroupAmounts = std::map<std::string, SharedAmount>;

void add_share(GroupAmounts& groups, const GroupShare& share, int devices) {
  if (!share.group.empty()) groups[share.group].add(share.amount, devices);
}

/// A computer, merged from the descriptions of all ranks on it.
struct Computer {
  int devices = 0;
  std::set<int> cores;
  Bytes memory{};
  GroupAmounts group_memory, group_cores;
  std::int64_t unlimited_devices = 0;  ///< Devices of ranks without a CPU quota.
  std::optional<int> most_threads;     ///< Per device; unset: no limit.

  void add(const RankHost& host, int devices_per_rank) {
    memory = devices == 0 ? host.memory : std::min(memory, host.memory);
    devices += devices_per_rank;
    cores.insert(host.cores.begin(), host.cores.end());
    add_share(group_memory, host.group_memory, devices_per_rank);
    add_share(group_cores, host.group_cores, devices_per_rank);
    if (host.group_cores.group.empty()) unlimited_devices += devices_per_rank;
    // OMP_NUM_THREADS limits a process, so its devices share it.
    if (host.most_threads > 0)
      most_threads = std::min(most_threads.value_or(host.most_threads),
                              std::max(1, host.most_threads / devices_per_rank));
  }
  /// Counts the union of the affinity masks: ranks bound to disjoint cores get their own cores, and
  /// ranks that are not bound share all of them.
  int threads() const {
    // More devices than cores give 0; each device still needs one thread.
    std::int64_t least = std::ssize(cores) / devices;
    for (const auto& [group, shared] : group_cores) least = std::min(least, shared.per_device());
    if (most_threads) least = std::min<std::int64_t>(least, *most_threads);
    return std::max(1, static_cast<int>(least));
  }
  Bytes memory_of_device() const {
    Bytes least{memory.count / devices};
    for (const auto& [group, shared] : group_memory)
      least = std::min(least, Bytes{shared.per_device(kOwnNeeds.count)});
    return least;
  }
  /// Returns the sum of the quotas, or all cores if a rank has no quota or the sum exceeds them.
  int usable_cores() const {
    std::int64_t quota = 0;
    for (const auto& [group, shared] : group_cores) quota += shared.amount;
    bool is_limited = unlimited_devices == 0 && quota < std::ssize(cores);
    return static_cast<int>(is_limited ? quota : std::ssize(cores));
  }
};

const std::string& computer_of(const RankHost& host) {
  return host.computer.empty() ? host.name : host.computer;
}

// Hosts travel between ranks as words; an empty word would be lost between two spaces.
constexpr const char* kNoGroup = "-";

std::string to_text(const GroupShare& share) {
  return fmt::format("{} {}", share.group.empty() ? kNoGroup : share.group, share.amount);
}

std::string to_text(const RankHost& host) {
  return fmt::format("{} {} {} {} {} {} {} {}", host.memory.count, host.cores.size(),
                     fmt::join(host.cores, " "), to_text(host.group_memory),
                     to_text(host.group_cores), host.most_threads, host.name, host.computer);
}

std::istream& operator>>(std::istream& words, GroupShare& share) {
  words >> share.group >> share.amount;
  if (share.group == kNoGroup) share.group.clear();
  return words;
}

RankHost parse_host(const std::string& text) {
  RankHost host;
  std::istringstream words(text);
  std::size_t cores = 0;
  words >> host.memory.count >> cores;
  host.cores.resize(cores);
  for (int& core : host.cores) words >> core;
  words >> host.group_memory >> host.group_cores >> host.most_threads >> host.name >> host.computer;
  return host;
}

/// Returns all cores if the system does not report the affinity mask.
std::vector<int> own_cores() {
  std::vector<int> cores = usable_cores();
  if (!cores.empty()) return cores;
  cores.resize(static_cast<std::size_t>(std::max(1, cores_of_machine())));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

RankHost own_host() {
  RankHost own{.cores = own_cores(),
               .memory = computer_memory(),
               .computer = boot_id(),
               .most_threads = openmp_threads()};
  CgroupLimits limits = read_cgroup_limits();
  if (limits.memory) own.group_memory = {limits.memory->group, limits.memory->left().count};
  if (limits.cores) own.group_cores = {limits.cores->group, whole_cores(*limits.cores)};
  return own;
}

}  // namespace

HostShares share_hosts(const std::vector<RankHost>& hosts, int own, int devices_per_rank) {
  HostShares shares;
  std::map<std::string, Computer> computers;
  // Nodes and computers are numbered in the order of their first ranks, the same on all ranks.
  std::map<std::string, int> nodes, numbers;
  auto number = [](std::map<std::string, int>& known, const std::string& name) {
    return known.try_emplace(name, static_cast<int>(known.size())).first->second;
  };
  for (const RankHost& host : hosts) {
    computers[computer_of(host)].add(host, devices_per_rank);
    shares.node_of_rank.push_back(number(nodes, host.name));
    shares.computer_of_rank.push_back(number(numbers, computer_of(host)));
  }
  const Computer& here = computers.at(computer_of(hosts[static_cast<std::size_t>(own)]));
  shares.cores = here.usable_cores();
  shares.devices = here.devices;
  shares.threads = here.threads();
  shares.memory = here.memory_of_device();
  shares.own_devices = devices_per_rank;
  shares.own_cores = hosts[static_cast<std::size_t>(own)].cores;
  std::ranges::copy_if(here.cores, std::back_inserter(shares.other_cores), [&](int core) {
    return std::ranges::find(shares.own_cores, core) == shares.own_cores.end();
  });
  // The minimum over all computers is the same on every rank, so all ranks plan alike.
  for (const auto& [name, computer] : computers) {
    shares.threads = std::min(shares.threads, computer.threads());
    shares.most_devices = std::max(shares.most_devices, computer.devices);
    shares.memory = std::min(shares.memory, computer.memory_of_device());
  }
  return shares;
}

std::vector<int> cores_of_device(const HostShares& hosts, int threads, int number) {
  bool is_own = number < hosts.own_devices;
  const std::vector<int>& cores = is_own ? hosts.own_cores : hosts.other_cores;
  int devices = is_own ? hosts.own_devices : hosts.devices - hosts.own_devices;
  int share = static_cast<int>(cores.size()) / std::max(1, devices);
  int place = is_own ? number : number - hosts.own_devices;
  if (share < threads || place >= devices) return {};
  auto first = cores.begin() + place * share;
  return {first, first + share};
}

HostShares meet_hosts(Ranks& ranks, int devices_per_rank) {
  RankHost own = own_host();
  own.name = ranks.host();
  std::vector<RankHost> hosts;
  for (const std::string& text : ranks.exchange(to_text(own))) hosts.push_back(parse_host(text));
  return share_hosts(hosts, ranks.rank(), devices_per_rank);
}

std::string host_name() {
  char name[256] = {};
  // POSIX does not promise a final zero if the name is cut off, so one byte is kept back.
  gethostname(name, sizeof name - 1);
  return name;
}

int usable_threads() { return share_hosts({own_host()}, 0, 1).threads; }

}  // namespace troika
