#include "cli/comm_trial.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "base/cores.h"
#include "collective/algorithms.h"
#include "comm/communicator.h"
#include "comm/host_block.h"
#include "comm/threads/thread_transport.h"

namespace troika::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr Microseconds kBatch = std::chrono::microseconds(500);
constexpr int kMostRounds = 1000;

/// One device's side of the trial. All devices go through the same steps; what they must agree on
/// travels in all-reduces of one number, which also keep them together.
class TrialMember {
 public:
  TrialMember(Transport& transport, int device, const CommTrial& trial)
      : trial_(trial),
        progress_(transport, DeviceId(static_cast<std::size_t>(device))),
        communicator_(progress_, all_devices(trial)),
        vector_bytes_(longest(trial)),
        vector_(vector_bytes_),
        input_(needs_input(trial) ? vector_bytes_ : Bytes{}) {
    Recipe agreement = make_recipe(equal_parts(Collective::all_reduce, communicator_.size(), 1),
                                   "recursive_doubling");
    agree_ = communicator_.prepare(agreement, {std::as_writable_bytes(std::span(&agreed_, 1)), {}},
                                   {.dtype = DType::f64, .rule = CombineRule::max});
    for (const CommCase& timed : trial.cases)
      operations_.push_back(communicator_.prepare(
          timed.recipe,
          {{vector_.address(), static_cast<std::size_t>(timed.bytes.count)}, input_of(timed)}));
  }

  std::byte* vector() const { return vector_.address(); }

  /// The longest time that a member needed per operation.
  double time(std::size_t at) {
    Operation& operation = *operations_[at];
    auto once = [&] {
      operation.start();
      operation.wait();
    };
    return time_rounds(once);
  }

  /// The same for a loop of this member alone.
  template <class Body>
  double time_rounds(const Body& body) {
    agree(0);
    body();
    agree(0);
    auto start = Clock::now();
    body();
    double first = agree(Microseconds(Clock::now() - start).count());
    int rounds = std::clamp(static_cast<int>(kBatch.count() / (first + 1e-3)), 1, kMostRounds);
    start = Clock::now();
    for (int round = 0; round < rounds; ++round) body();
    return agree(Microseconds(Clock::now() - start).count() / rounds);
  }

 private:
  static std::vector<DeviceId> all_devices(const CommTrial& trial) {
    std::vector<DeviceId> devices;
    for (int device = 0; device < trial.cases.front().recipe.call.members; ++device)
      devices.push_back(DeviceId(static_cast<std::size_t>(device)));
    return devices;
  }
  static Bytes longest(const CommTrial& trial) {
    return std::ranges::max_element(trial.cases, {}, &CommCase::bytes)->bytes;
  }
  static bool needs_input(const CommTrial& trial) {
    return trial.cases.front().recipe.call.kind == Collective::all_to_all;
  }
  std::span<const std::byte> input_of(const CommCase& timed) const {
    return {input_.address(),
            needs_input(trial_) ? static_cast<std::size_t>(timed.bytes.count) : 0};
  }

  double agree(double value) {
    agreed_ = value;
    agree_->start();
    agree_->wait();
    return agreed_;
  }

  const CommTrial& trial_;
  MoveProgress progress_;
  Communicator communicator_;
  const Bytes vector_bytes_;
  const HostBlock vector_, input_;
  double agreed_ = 0;
  std::unique_ptr<Operation> agree_;
  std::vector<std::unique_ptr<Operation>> operations_;
};

/// Combines one slice of all vectors into all of them, as a direct all-reduce does once all are
/// there.
double time_roofline(TrialMember& member, int device, const CommCase& timed,
                     std::vector<std::byte*> vectors) {
  Arithmetic arithmetic = arithmetic_of(DType::f32, CombineRule::sum);
  Range slice = part_of(timed.recipe.call.count, device, timed.recipe.call.members);
  for (std::byte*& vector : vectors) vector += slice.begin * 4;
  return member.time_rounds(
      [&] { arithmetic.combine_all(vectors, slice.extent(), 1, timed.bytes >= kLongVector); });
}

}  // namespace

CommTrialResult time_on_threads(const CommTrial& trial) {
  ThreadTransport transport;
  auto devices = static_cast<std::size_t>(trial.cases.front().recipe.call.members);
  bool has_roofline = trial.cases.front().recipe.call.kind == Collective::all_reduce;
  std::vector<std::byte*> vectors(devices);
  CommTrialResult result{.cases = std::vector<CommTimes>(trial.cases.size())};
  if (has_roofline) result.rooflines.resize(trial.cases.size());
  std::vector<int> cores = usable_cores();
  auto body = [&](int device) {
    bind_to_core(device, cores);
    TrialMember member(transport, device, trial);
    vectors[static_cast<std::size_t>(device)] = member.vector();  // read after the first agreement
    member.time(0);
    for (int repeat = 0; repeat < trial.repeats; ++repeat) {
      for (std::size_t at = 0; at < trial.cases.size(); ++at) {
        double time = member.time(at), roofline = 0;
        if (has_roofline) roofline = time_roofline(member, device, trial.cases[at], vectors);
        if (device != 0) continue;
        result.cases[at].repeats.push_back(time);
        if (has_roofline) result.rooflines[at].repeats.push_back(roofline);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int device = 0; device < static_cast<int>(devices); ++device)
    threads.emplace_back([&, device] { body(device); });
  threads.clear();
  return result;
}

CommTrialResult time_over(Transport& transport, int rank, const CommTrial& trial) {
  CommTrialResult result{.cases = std::vector<CommTimes>(trial.cases.size())};
  TrialMember member(transport, rank, trial);
  for (int repeat = 0; repeat < trial.repeats; ++repeat)
    for (std::size_t at = 0; at < trial.cases.size(); ++at)
      result.cases[at].repeats.push_back(member.time(at));
  return result;
}

}  // namespace troika::cli
