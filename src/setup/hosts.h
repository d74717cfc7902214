// Divides the cores and memory of the computers that the ranks run on among their devices.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "setup/ranks.h"

namespace troika {

/// A limit that all ranks of one control group share.
struct GroupShare {
  std::string group;  ///< Empty if there is no limit. Contains no spaces.
  std::int64_t amount = 0;
};

/// One rank's view of the computer it runs on.
struct RankHost {
  std::vector<int> cores;  ///< Cores in this rank's affinity mask.
  Bytes memory{};          ///< Memory of the computer, shared by all ranks on it.
  std::string name;
  /// Containers on one computer may have names of their own. Empty: as the name.
  std::string computer{};
  GroupShare group_memory{};  ///< Bytes left below the memory limit of its control group.
  GroupShare group_cores{};   ///< Whole cores within the CPU quota of its control group.
  int most_threads = 0;       ///< Limit over all its devices (OMP_NUM_THREADS); 0: no limit.
};

/// The share of each device. If computers differ, the smallest share applies everywhere, so that
/// all devices are alike. A node is a host name: containers on one computer are nodes of their own,
/// which send messages to each other over a network but share cores and memory.
struct HostShares {
  std::vector<int> node_of_rank, computer_of_rank;
  int threads = 1;       ///< Default threads per device.
  Bytes memory{};        ///< Memory per device.
  int most_devices = 1;  ///< Of any computer.
  // For the computer of one rank only.
  int cores = 1;  ///< Cores that any rank on it may use.
  int devices = 1;
  std::vector<int> own_cores{}, other_cores{};  ///< Of that rank, and of the others only.
  int own_devices = 1;
};

/// Takes one host per rank. `cores` and `devices` of the result describe the computer of rank
/// `own`.
HostShares share_hosts(const std::vector<RankHost>& hosts, int own, int devices_per_rank);

/// Returns the cores of device `number`. Devices of the process get equal shares of its cores, so
/// that two never wake up on one core. Higher numbers stand for devices of other ranks on this
/// computer, used while kernels are timed; they share the cores that only other ranks may use.
/// Empty, meaning any core of the process, if a share is smaller than `threads`.
std::vector<int> cores_of_device(const HostShares& hosts, int threads, int number);

/// Collective: every rank describes its host and gets its shares.
HostShares meet_hosts(Ranks& ranks, int devices_per_rank);

std::string host_name();

/// Returns how many threads this process may keep busy: the least of its affinity mask, the CPU
/// quota of its control groups, and OMP_NUM_THREADS.
int usable_threads();

}  // namespace troika
