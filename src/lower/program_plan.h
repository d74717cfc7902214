// A program with everything decided that does not differ between devices: kernels, turns, lags,
// buckets. Tasks follow from it device by device.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lower/kernel_units.h"
#include "taskgraph/turn.h"

namespace troika {

/// When something happens, on all devices alike.
struct Moment {
  TurnFields turn;
  std::int32_t lag = 0;

  bool operator==(const Moment&) const = default;
};

/// Ranks of the tasks of one parameter at one place, in this order: what brings its gradient to the
/// update, the bucket and the scattered sum of the gradient, norms, what adds these up over
/// devices, the update, messages that share its result, what brings the stored weight to its
/// readers.
inline constexpr RankRange kGradientRanks{0, 0x1d00, "steps of one gradient"},
    kBucketRanks{0x1d00, 0x1e00, "tasks of one bucket"},
    kScatterRanks{0x1e00, 0x2000, "tasks of one scattered sum"},
    kNormRanks{0x2000, 0x2200, "norms of one parameter"},
    kNormSumRanks{0x2200, 0x2600, "steps of the norms of one parameter"},
    kApplyRanks{0x2600, 0x2f00, "updates of one parameter"},
    kSharedRanks{0x2f00, 0x3000, "tasks of one gathered parameter"},
    kStoredRanks{0x3000, 0x4000, "steps of one parameter"};
/// Ranks of the steps of other values, which share their place with nothing else.
inline constexpr RankRange kValueRanks{0, 0x4000, "steps of one tensor"};
/// Ranks of the sums on a device for an output that is a sum over the batch. The sum over all
/// devices follows.
inline constexpr RankRange kOutputSumRanks{0, 0x1000, "sums of one output"};
/// Rank of the guard, and of copies of outputs for the host: behind the tasks that these read.
inline constexpr std::uint32_t kStepRank = 0x2001;
/// The ranks of the steps of a value's redistribution.
const RankRange& ranks_of(ValueKind kind);

/// Gradients that travel as one message.
struct GradientBucket {
  struct Part {
    std::int32_t update = -1;   ///< Index into the updates.
    std::int32_t message = -1;  ///< Of its gradient's redistribution.
    Bytes offset{};             ///< In the vector of the bucket.

    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  Bytes bytes{};
  Moment start, finish;

  bool operator==(const GradientBucket&) const = default;
};

/// Indexes of updates, in the order in which backward finishes their gradients.
using UpdateGroup = std::vector<std::int32_t>;

/// Each group of parameters has a range of numbers for its buckets, so that what becomes of one
/// group does not renumber the buckets of others.
inline constexpr std::int32_t kMostBuckets = 1 << 15;
inline std::int32_t first_bucket(std::int32_t group) { return group * kMostBuckets; }

/// Which bucket a message has become a part of, and which part.
struct BucketPart {
  std::int32_t bucket = -1;
  std::int32_t part = -1;

  bool operator==(const BucketPart&) const = default;
};

struct ProgramPlan {
  const LowerRequest& request;
  const PlanTables& tables;
  Distribution distribution;
  std::vector<UpdatePlan> updates{};
  KernelUnits units{};
  std::vector<std::int32_t>
      update_of{};                       ///< By value: the update that has it as gradient or norms.
  std::vector<Moment> update_moments{};  ///< By update.
  Moment guard{};                        ///< Where the loss, or the gradient's norm, is known.
  std::vector<UpdateGroup> bucket_groups{};          ///< They do not depend on splits.
  std::map<std::int32_t, GradientBucket> buckets{};  ///< By number, group by group.
  /// By update and message of its gradient.
  std::vector<std::vector<BucketPart>> bucket_of{};
  /// By job, use and kind of tile: how it lies. Empty where a view, or nothing, is written.
  std::vector<std::vector<std::vector<Layout>>> written{};

  /// By name: places in the strategy's list of messages.
  std::map<std::string, std::int32_t> message_places{};

  /// By job: the job at whose place its tiles run, where some of them are fused.
  std::vector<std::size_t> runs_at{};

  UnitRequest unit_request() const { return {request, tables, distribution, updates}; }
  bool has_peers() const { return request.machine->devices.size() > 1; }
  std::int64_t micro_batches() const { return distribution.micro_batches; }
};

/// At a job, of a micro-batch.
TurnFields turn_of(const ProgramPlan& plan, std::size_t job, std::int64_t micro_batch, Side side);
/// After the last forward phase of a micro-batch.
TurnFields end_of_forward(const ProgramPlan& plan, std::int64_t micro_batch);
/// After the last backward phase; `place` orders the tasks there.
TurnFields end_of_step(const ProgramPlan& plan, std::uint32_t place);

/// A moment of a value's redistribution, which it has. Of gradients of parameters contributions
/// count over all micro-batches.
Moment moment_of(const ProgramPlan& plan, std::size_t value, std::int64_t micro_batch,
                 std::int32_t moment);

/// The shape of a buffer of a value's redistribution that is a box of it, and how it lies: as its
/// writer leaves it, or plain.
Shape shape_of(const DistributedValue& value, std::int32_t buffer);
Layout layout_of(const ProgramPlan& plan, std::size_t value, std::int32_t buffer);
/// How what a tile of a writer leaves lies, or what is stored.
Layout layout_written(const ProgramPlan& plan, std::size_t value, std::size_t writer,
                      std::int32_t tile);

/// Fills in where these jobs run and how what they write lies, from the chosen units. A unit of
/// several jobs must have all of them in the list. Returns the jobs for which either has changed.
std::vector<std::int32_t> note_layouts(ProgramPlan& plan, std::span<const std::int32_t> jobs);

}  // namespace troika
