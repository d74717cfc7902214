// How long collectives take, found by running them: one member's side of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/heartbeat/heartbeat.h"
#include "comm/host_block.h"
#include "profile/timed_group.h"

namespace troika {

/// Every member makes its own and calls the same functions with the same groups. Borrows the
/// scheduler; used by the member's thread.
class CollectiveTimer {
 public:
  /// Runs a call so many times.
  using Body = std::function<void(int rounds)>;
  using Maker = std::function<Body(const CollectiveCall& call, std::span<std::byte> vector)>;

  /// No call is longer than `longest`.
  CollectiveTimer(MoveScheduler& scheduler, std::vector<DeviceId> devices, Bytes longest);

  /// What `algorithm` names is no recipe: `make` says how it is run.
  void add_maker(std::string algorithm, Maker make);
  /// Lets the heartbeat know what is being timed. The members are all of its ranks, in order.
  void set_watch(Heartbeat& heartbeat);
  /// What all calls work on.
  std::byte* vector() const { return vector_.address(); }

  /// Goes through all groups again and again and adds to their samples, the same on all members.
  void time_all(std::vector<TimedGroup>& groups, const TimingPasses& passes);

 private:
  /// A call that is timed, and what the heartbeat knows it as.
  struct Batch {
    Body run;
    CallId call{};
  };

  void time_group(TimedGroup& group, int samples);
  Batch prepare_batch(const TimedCall& timed);
  void run(const Batch& batch, int rounds);
  double time(const Batch& batch, int rounds);
  /// The greatest of what the members say. Nobody goes on before all have said it.
  double agree(double mine);
  Body prepare(const TimedCall& timed);

  Communicator communicator_;
  HostBlock vector_, input_;
  std::map<std::string, Maker> makers_;
  Heartbeat* heartbeat_ = nullptr;  // borrowed; null: nobody watches
  int group_ = -1;
  std::map<std::string, CallId> calls_;  // by what they are described as
  double agreed_ = 0;
  std::unique_ptr<Operation> agree_;
};

}  // namespace troika
