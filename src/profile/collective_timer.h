// How long collectives take, found by running them: one member's side of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/host_block.h"

namespace troika {

struct TimedCall {
  CollectiveCall call;  ///< Of f32.
  std::string algorithm;
};

/// What is timed in turns, so that other load meets it alike; usually the algorithms of one kind at
/// one size.
struct TimedGroup {
  std::vector<TimedCall> calls;
  /// Per call, nanoseconds per operation of each batch: the longest time that a member needed.
  std::vector<std::vector<double>> samples{};
};

struct TimingPasses {
  int least = 3, most = 7;
  double seconds = 8;  ///< No further pass begins after the least ones that would go beyond.
};

/// Every member makes its own and calls the same functions with the same groups. Borrows the
/// progress; used by the member's thread.
class CollectiveTimer {
 public:
  /// No call is longer than `longest`.
  CollectiveTimer(Progress& progress, std::vector<DeviceId> devices, Bytes longest);

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

/// The middle one of each call's samples.
std::vector<double> medians(const TimedGroup& group);

}  // namespace troika
