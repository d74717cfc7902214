// Times collectives by running them. Each member runs its own CollectiveTimer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "collective/recipe.h"
#include "comm/communicator.h"
#include "comm/heartbeat/heartbeat.h"
#include "comm/host_block.h"

namespace troika {

/// Timed in addition to algorithms: the bytes of an all-reduce combined and written by a plain loop
/// on each member, without any message, with ordinary and with non-temporal stores. Only for
/// members that share memory.
inline constexpr std::string_view kRoofline = "roofline", kStreamedRoofline = "roofline_streamed";

inline constexpr Bytes kTimedElement{4};  ///< Of every timed call: f32.

struct TimedCall {
  CollectiveCall call;
  std::string algorithm;  ///< Or "mpi", where the members are ranks, or a roofline.
};

/// Calls that are timed in turns, so that other load on the machine affects all alike. Usually the
/// algorithms of one kind at one size.
struct TimedGroup {
  std::vector<TimedCall> calls;
  /// Per call and batch, nanoseconds per operation of the slowest member.
  std::vector<std::vector<double>> samples{};
};

struct TimingPasses {
  int least = 3, most = 7;
  int samples = 3;     ///< Of each call in each pass.
  double seconds = 8;  ///< After `least` passes, none begins that would exceed this time.
};

/// The median of each call's samples.
std::vector<double> medians(const TimedGroup& group);
/// The uncertainty of each median: half its 95 % confidence interval.
std::vector<double> noise_of_medians(const TimedGroup& group);

/// Every member makes its own and calls the same functions with the same groups. Borrows the
/// scheduler; used by the member's thread.
class CollectiveTimer {
 public:
  /// Runs a call `rounds` times.
  using Body = std::function<void(int rounds)>;
  using Maker = std::function<Body(const CollectiveCall& call, std::span<std::byte> vector)>;

  /// No call is longer than `longest`.
  CollectiveTimer(MoveScheduler& scheduler, std::vector<DeviceId> devices, Bytes longest);

  /// `algorithm` is not a recipe; `make` returns the function that runs it.
  void add_maker(std::string algorithm, Maker make);
  /// Reports each timed call to the heartbeat. The members are all of its ranks, in order.
  void set_watch(Heartbeat& heartbeat);
  /// The operand of all calls.
  std::byte* vector() const { return vector_.address(); }

  /// Times all groups in several passes and appends to their samples, the same on all members.
  void time_all(std::vector<TimedGroup>& groups, const TimingPasses& passes);

 private:
  /// A timed call and its id in the heartbeat.
  struct Batch {
    Body run;
    CallId call{};
  };

  void time_group(TimedGroup& group, int samples);
  Batch prepare_batch(const TimedCall& timed);
  void run(const Batch& batch, int rounds);
  double time(const Batch& batch, int rounds);
  /// Returns the greatest value of all members. Also a barrier.
  double agree(double mine);
  Body prepare(const TimedCall& timed);

  Communicator communicator_;
  HostBlock vector_, input_;
  std::map<std::string, Maker> makers_;
  Heartbeat* heartbeat_ = nullptr;  // borrowed; null: not watched
  int group_ = -1;
  std::map<std::string, CallId> calls_;  // by description
  double agreed_ = 0;
  std::unique_ptr<Operation> agree_;
};

}  // namespace troika
