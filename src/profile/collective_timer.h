// How long collectives take, found by running them: one member's side of it.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/host_block.h"
#include "profile/timed_group.h"

namespace troika {

/// Every member makes its own and calls the same functions with the same groups. Borrows the
/// progress; used by the member's thread.
class CollectiveTimer {
 public:
  /// No call is longer than `longest`.
  CollectiveTimer(MoveProgress& progress, std::vector<DeviceId> devices, Bytes longest);

  /// Goes through all groups again and again and adds to their samples, the same on all members.
  void time_all(std::vector<TimedGroup>& groups, const TimingPasses& passes);

 private:
  void time_group(TimedGroup& group);
  double time_batch(Operation& operation, int rounds);
  /// The greatest of what the members say. Nobody goes on before all have said it.
  double agree(double mine);
  std::unique_ptr<Operation> prepare(const TimedCall& timed);

  Communicator communicator_;
  HostBlock vector_, input_;
  double agreed_ = 0;
  std::unique_ptr<Operation> agree_;
};

}  // namespace troika
