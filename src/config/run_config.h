// A run as a plain value: the content of run.toml with every default filled in. This file has the
// defaults; run_keys.cpp has the names, ranges and documentation of the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "config/choices.h"
#include "config/condition.h"
#include "config/period.h"
#include "tensor/dtype.h"

namespace troika {

struct RunSection {
  std::string name;             ///< Empty: the name of the run file without its ending.
  std::string folder = "runs";  ///< The run folder is folder/name.

  bool operator==(const RunSection&) const = default;
};

using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

struct ModelOption {
  std::string name;
  OptionValue value;

  bool operator==(const ModelOption&) const = default;
};

/// The options are those of the model (width, depth, layers …), in the order written; the zoo
/// checks them.
struct ModelConfig {
  std::string name;
  std::vector<ModelOption> options;

  bool operator==(const ModelConfig&) const = default;
};

struct Normalize {
  enum class Kind { automatic, none, given };

  Kind kind = Kind::automatic;
  std::vector<double> mean;       ///< given: one for all channels, or one per channel.
  std::vector<double> deviation;  ///< given: as many as `mean`, each above 0.

  bool operator==(const Normalize&) const = default;
};

struct DataConfig {
  std::string train;
  /// "10%" or "[begin:end]" of `train`, or a set of its own; empty: none.
  std::string validation;
  std::string test;  ///< Empty: no evaluation.
  std::vector<std::string> augment;
  Normalize normalize;
  std::optional<std::int64_t> sequence;  ///< Tokens per sample.

  bool operator==(const DataConfig&) const = default;
};

struct BatchScheduleConfig {
  std::int64_t factor = 1;  ///< 1: off.
  std::optional<Period> every;
  std::optional<std::int64_t> limit;

  bool operator==(const BatchScheduleConfig&) const = default;
};

struct TrainConfig {
  enum class Guard { loss, gradient };

  std::int64_t global_batch = 64;
  std::optional<std::int64_t> epochs;  ///< At most one of epochs and steps;
  std::optional<std::int64_t> steps;   ///< with `until` it is the upper limit.
  std::optional<Condition> until;
  std::optional<std::int64_t> patience;  ///< Evaluations without improvement; unset: no limit.
  std::int64_t seed = 1;
  Guard guard = Guard::loss;
  std::int64_t shards = 1;
  std::optional<double> clip_norm;
  std::vector<std::string> freeze;
  Period evaluate{1, PeriodUnit::epochs};
  BatchScheduleConfig batch_schedule;

  /// Clipping needs the whole gradient before the first update, so it implies the gradient guard.
  Guard effective_guard() const { return clip_norm ? Guard::gradient : guard; }
  bool operator==(const TrainConfig&) const = default;
};

struct ScheduleConfig {
  enum class Kind { constant, step, polynomial, cosine };

  Kind kind = Kind::constant;
  Period warmup;
  double factor = 0.1;
  std::optional<Period> every;
  double power = 1;
  double final_part = 0;  ///< The rate at the end, as a part of learning_rate.

  bool operator==(const ScheduleConfig&) const = default;
};

struct GroupConfig {
  std::string match;
  std::optional<double> weight_decay;  ///< Unset: that of the optimizer.
  double learning_rate_factor = 1;

  bool operator==(const GroupConfig&) const = default;
};

struct OptimizerConfig {
  enum class Kind { sgd, adam, adamw, lars, lamb };

  Kind kind = Kind::sgd;
  double learning_rate = 0.05;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double trust = 0.001;
  ScheduleConfig schedule;
  std::vector<GroupConfig> groups;  ///< The first one that matches a parameter counts.

  bool operator==(const OptimizerConfig&) const = default;
};

/// A ready plan or a file by name, or, with an empty name, the degrees of three kinds of
/// parallelism.
struct PlanConfig {
  std::string name = "single";
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;

  bool is_file() const { return name.ends_with(".json"); }
  bool is_auto() const { return name == "auto"; }
  bool operator==(const PlanConfig&) const = default;
};

/// Of one run, over all ranks.
inline constexpr std::int64_t kMostDevices = 65536;

struct ParallelConfig {
  enum class Order { fast, fixed };
  enum class Weights { equal, measured };

  std::int64_t devices = 1;             ///< In all, over all ranks.
  std::optional<std::int64_t> threads;  ///< Per device; unset: auto.
  Order order = Order::fast;
  PlanConfig plan;
  std::int64_t micro_batches = 1;    ///< For ready plans; a plan file has its own.
  bool sliced_update = false;        ///< As Sync::sliced_update; the same holds.
  bool carry_updates = true;         ///< As Sync::carry_updates; the same holds.
  Weights weights = Weights::equal;  ///< How a ready plan divides samples.
  std::optional<Bytes> memory;       ///< Of each device; unset: its share of the machine's.

  bool operator==(const ParallelConfig&) const = default;
};

struct KernelsConfig {
  enum class Backend { cpu, reference };

  Backend backend = Backend::TROIKA_DEFAULT_BACKEND;  ///< The build says: cpu where it has oneDNN.
  DType dtype = DType::f32;
  bool winograd = true;
  bool measure = true;         ///< Choose kernels by their measured times, else by rule.
  std::string cache = "auto";  ///< Folder of measured times; see config/cache_folder.h.

  bool operator==(const KernelsConfig&) const = default;
};

struct CheckpointConfig {
  Period every{1, PeriodUnit::epochs};
  std::int64_t keep = 3;
  std::optional<Metric> best;  ///< Unset: see RunConfig::best_metric.

  bool operator==(const CheckpointConfig&) const = default;
};

/// TCP ports; 0 and 0: any free one.
struct PortRange {
  std::int64_t first = 0, last = 0;

  bool operator==(const PortRange&) const = default;
};

/// How ranks watch each other besides MPI (docs/mpi.md).
struct HeartbeatConfig {
  bool enabled = true;
  std::string interface = "auto";  ///< Or the name of one, or a network such as "10.1.0.0/16".
  PortRange ports;

  bool operator==(const HeartbeatConfig&) const = default;
};

struct LogConfig {
  Period every{50, PeriodUnit::steps};

  bool operator==(const LogConfig&) const = default;
};

struct RunConfig {
  RunSection run;
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  OptimizerConfig optimizer;
  ParallelConfig parallel;
  KernelsConfig kernels;
  CheckpointConfig checkpoint;
  LogConfig log;
  HeartbeatConfig heartbeat;

  /// The set that is evaluated during training, for conditions, the best checkpoint and early
  /// stopping.
  Metric::Set evaluated_set() const {
    return data.validation.empty() ? Metric::Set::test : Metric::Set::validation;
  }
  /// The metric by which the best checkpoint is kept; early stopping needs one.
  std::optional<Metric> best_metric() const {
    if (!checkpoint.best && train.patience) return Metric{evaluated_set(), Metric::Measure::loss};
    return checkpoint.best;
  }
  bool operator==(const RunConfig&) const = default;
};

std::span<const Choice<TrainConfig::Guard>> choices(TrainConfig::Guard);
std::span<const Choice<ScheduleConfig::Kind>> choices(ScheduleConfig::Kind);
std::span<const Choice<OptimizerConfig::Kind>> choices(OptimizerConfig::Kind);
std::span<const Choice<ParallelConfig::Order>> choices(ParallelConfig::Order);
std::span<const Choice<ParallelConfig::Weights>> choices(ParallelConfig::Weights);
std::span<const Choice<KernelsConfig::Backend>> choices(KernelsConfig::Backend);
std::span<const Choice<DType>> choices(DType);

}  // namespace troika
