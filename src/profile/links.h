// Measures what messages between devices cost: collectives of a few members at many sizes, run as
// they will be run, over the threads of this process or the ranks of an MPI run.
#pragma once

#include <functional>
#include <vector>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"
#include "cost/link_costs.h"
#include "profile/timed_group.h"

namespace troika {

/// The members that are timed together: where they live, and how to run them.
struct MemberTeam {
  int members = 2;
  LinkKind link = LinkKind::process;
  bool has_mpi = false;  ///< The library's own collectives can be timed too, as "mpi".
  /// Times the groups with all members; no call is longer than `longest`.
  std::function<void(std::vector<TimedGroup>& groups, const TimingPasses& passes, Bytes longest)>
      time;
};

/// Threads of this process, each on a core of its own as far as there are cores where `pins`. What
/// one of them throws is thrown by `time`.
MemberTeam thread_team(int members, bool pins);
/// One member per rank; all ranks make it and call it together. Borrows both. Every batch is a call
/// that the heartbeat knows of.
MemberTeam rank_team(MpiWorld& world, Heartbeat& heartbeat);

struct LinkSizes {
  Bytes least{8}, most{64 << 20};
};

/// Every algorithm of every collective that can be done there, MPI's own among them. All-reduces,
/// which count most, at every power of two, the others at every second one and up to half the
/// length.
std::vector<MeasuredAlgorithm> measure_algorithms(const MemberTeam& team, const LinkSizes& sizes,
                                                  const TimingPasses& passes);

/// Equal parts of a vector for the team, with its links.
CollectiveCall team_call(const MemberTeam& team, Collective kind, Bytes bytes);

}  // namespace troika
