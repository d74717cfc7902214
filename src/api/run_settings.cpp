#include "api/run_settings.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::internal {
namespace {

constexpr std::int64_t kLargest = 10'000'000;  // products of two such numbers cannot overflow

void require_whole(const char* option, std::int64_t value, std::int64_t least) {
  if (value >= least && value <= kLargest) return;
  throw Error(ErrorKind::usage, fmt::format("TrainerOptions: '{}' must be from {} to {}, not {}",
                                            option, least, kLargest, value));
}

void require_count(const char* option, std::int64_t value, std::int64_t largest) {
  if (value >= 1 && value <= largest) return;
  throw Error(ErrorKind::usage,
              fmt::format("FitOptions: '{}' must be from 1 to {}, not {}", option, largest, value));
}

void check(const TrainerOptions& options) {
  require_whole("global_batch", options.global_batch, 1);
  require_whole("threads", options.threads, 0);
  require_whole("shards", options.shards, 1);
  if (options.global_batch % options.shards != 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("TrainerOptions: a global batch of {} cannot be cut into {} equal shards",
                    options.global_batch, options.shards));
  if (options.clip_norm && !(*options.clip_norm > 0))
    throw Error(ErrorKind::usage, fmt::format("TrainerOptions: 'clip_norm' must be above 0, not {}",
                                              *options.clip_norm));
}

Period percent(double share) { return {100 * share, PeriodUnit::percent}; }

ScheduleConfig to_config(const optim::ConstantOptions& schedule) {
  return {.kind = ScheduleConfig::Kind::constant, .warmup = percent(schedule.warmup)};
}
ScheduleConfig to_config(const optim::CosineOptions& schedule) {
  return {.kind = ScheduleConfig::Kind::cosine,
          .warmup = percent(schedule.warmup),
          .final_part = schedule.final_part};
}
ScheduleConfig to_config(const optim::PolynomialOptions& schedule) {
  return {.kind = ScheduleConfig::Kind::polynomial,
          .warmup = percent(schedule.warmup),
          .power = schedule.power,
          .final_part = schedule.final_part};
}
ScheduleConfig to_config(const optim::StepOptions& schedule) {
  return {.kind = ScheduleConfig::Kind::step,
          .warmup = percent(schedule.warmup),
          .factor = schedule.factor,
          .every = Period{schedule.every_epochs, PeriodUnit::epochs}};
}

OptimizerConfig::Kind to_config(optim::Kind kind) {
  switch (kind) {
    case optim::Kind::sgd:
      return OptimizerConfig::Kind::sgd;
    case optim::Kind::adam:
      return OptimizerConfig::Kind::adam;
    case optim::Kind::adamw:
      return OptimizerConfig::Kind::adamw;
    case optim::Kind::lars:
      return OptimizerConfig::Kind::lars;
    case optim::Kind::lamb:
      return OptimizerConfig::Kind::lamb;
  }
  throw Bug("an optimizer without a name");
}

OptimizerConfig to_config(const optim::Optimizer& optimizer) {
  OptimizerConfig config{.kind = to_config(optimizer.kind),
                         .learning_rate = optimizer.learning_rate,
                         .momentum = optimizer.momentum,
                         .nesterov = optimizer.nesterov,
                         .beta1 = optimizer.beta1,
                         .beta2 = optimizer.beta2,
                         .epsilon = optimizer.epsilon,
                         .weight_decay = optimizer.weight_decay,
                         .trust = optimizer.trust};
  config.schedule =
      std::visit([](const auto& schedule) { return to_config(schedule); }, optimizer.schedule);
  for (const optim::Group& group : optimizer.groups)
    config.groups.push_back({group.match, group.weight_decay, group.learning_rate_factor});
  return config;
}

}  // namespace

void check(const FitOptions& options) {
  if (options.epochs && options.steps)
    throw Error(ErrorKind::usage, "FitOptions: both 'epochs' and 'steps' are set; remove one");
  // Bounded, so that positions in samples (epochs x samples, steps x batch) fit in 64 bits.
  require_count("epochs", options.epochs.value_or(1), 1'000'000);
  require_count("steps", options.steps.value_or(1), 1'000'000'000);
  require_count("report_every", options.report_every, 1'000'000'000);
  require_count("patience", options.patience.value_or(1), 1'000'000);
}

RunConfig to_config(const TrainerOptions& options, const optim::Optimizer& optimizer) {
  check(options);
  RunConfig config;
  config.train.global_batch = options.global_batch;
  config.train.steps = 0;  // each fit sets its own
  config.train.seed = options.seed;
  config.train.shards = options.shards;
  config.train.clip_norm = options.clip_norm;
  config.train.freeze = options.freeze;
  // The samples are given; the name only says that there are some.
  if (options.validation) config.data.validation = "given";
  config.optimizer = to_config(optimizer);
  if (options.threads > 0) config.parallel.threads = options.threads;
  if (options.kernels == Kernels::reference)
    config.kernels.backend = KernelsConfig::Backend::reference;
  return config;
}

}  // namespace troika::internal
