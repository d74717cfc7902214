// The computers that the ranks of a run are on, and what each device gets of them.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "train/ranks.h"

namespace troika {

/// What a rank says of the computer it is on.
struct RankHost {
  std::vector<int> cores;  ///< That this rank may use.
  Bytes memory{};          ///< That the computer has, for all its ranks.
  std::string name;
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

/// Asks all ranks; null: this process is alone.
HostShares meet_hosts(Ranks* ranks, int devices_per_rank);

}  // namespace troika
