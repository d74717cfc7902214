// The computers that the ranks of a run are on, and what each device gets of them.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "setup/ranks.h"

namespace troika {

/// An amount that the ranks of one control group share.
struct GroupShare {
  std::string group;  ///< Empty: no limit. Contains no spaces.
  std::int64_t amount = 0;
};

/// What a rank says of the computer it is on.
struct RankHost {
  std::vector<int> cores;  ///< That this rank may use.
  Bytes memory{};          ///< That the computer has, for all its ranks.
  std::string name;
  GroupShare group_memory{};  ///< Bytes that are left below the limit of its control group.
  GroupShare group_cores{};   ///< Whole cores that its control group's quota pays for.
  int most_threads = 0;       ///< In all its devices (OMP_NUM_THREADS); 0: no limit.
};

/// What follows for all from what each says. Where computers differ the least counts, so that all
/// devices are alike.
struct HostShares {
  std::vector<int> node_of_rank;
  int threads = 1;  ///< Per device, where nothing else is said.
  Bytes memory{};   ///< Of a device.
  // Of one rank's computer alone.
  int cores = 1;  ///< That any of its ranks may use.
  int devices = 1;
};

/// One host per rank; `own` is the rank whose computer is told of.
HostShares share_hosts(const std::vector<RankHost>& hosts, int own, int devices_per_rank);

/// Collective: every rank describes its host and gets its shares.
HostShares meet_hosts(Ranks& ranks, int devices_per_rank);

std::string host_name();

/// Threads that this process may keep busy: its affinity, the CPU quota of its control groups, and
/// OMP_NUM_THREADS, whichever is least.
int usable_threads();

}  // namespace troika
