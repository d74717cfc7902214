// Measures the costs of messages between devices: collectives of a few members at many sizes, run
// by threads of this process or by the ranks of an MPI run.
#pragma once

#include <functional>
#include <vector>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"
#include "cost/link_costs.h"
#include "profile/collective_timer.h"

namespace troika {

/// The members that are timed together, the link between them, and a function that runs them.
struct MemberTeam {
  int members = 2;
  LinkKind link = LinkKind::process;
  bool has_mpi = false;  ///< MPI's own collectives can be timed too, as "mpi".
  /// Times the groups with all members; no call is longer than `longest`.
  std::function<void(std::vector<TimedGroup>& groups, const TimingPasses& passes, Bytes longest)>
      time;
};

/// Threads of this process, each pinned to its own core if `pins` and there are enough cores.
/// `time` rethrows the exception of a member.
MemberTeam thread_team(int members, bool pins);
/// One member per rank; all ranks create it and call it together. Borrows both. Every batch is
/// reported to the heartbeat as a call.
MemberTeam rank_team(MpiWorld& world, Heartbeat& heartbeat);

struct LinkSizes {
  Bytes least{8}, most{64 << 20};
};

/// Measures every algorithm of every collective that the team supports, including MPI's own.
/// All-reduces, which matter most, are measured at every power of two, the others at every second
/// one and up to half the length.
std::vector<MeasuredAlgorithm> measure_algorithms(const MemberTeam& team, const LinkSizes& sizes,
                                                  const TimingPasses& passes);

/// A call of the team with equal parts of a vector.
CollectiveCall team_call(const MemberTeam& team, Collective kind, Bytes bytes);

}  // namespace troika
