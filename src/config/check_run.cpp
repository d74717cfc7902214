#include "config/check_run.h"

#include <fmt/format.h>

#include <bit>

namespace troika::config {
namespace {

void check_length(const TrainConfig& train, Reader& reader) {
  if (train.epochs && train.steps)
    reader.refuse_together({"train.steps", "train.epochs"},
                           "both 'epochs' and 'steps' are set in [train]; remove one of them");
  if (!train.epochs && !train.steps && !train.until)
    reader.refuse_together(
        {"train.epochs", "train.steps", "train.until"},
        "[train] does not say how long to train; add 'epochs', 'steps' or 'until'");
}

void check_batch(const TrainConfig& train, Reader& reader) {
  if (train.global_batch % train.shards != 0)
    reader.refuse_together(
        {"train.shards", "train.global_batch"},
        fmt::format("'global_batch' = {} cannot be cut into {} equal shards; choose a multiple",
                    train.global_batch, train.shards));
  const BatchScheduleConfig& schedule = train.batch_schedule;
  if (schedule.factor > 1 && !schedule.every)
    reader.refuse_together(
        {"train.batch_schedule.factor", "train.batch_schedule.every"},
        "'factor' in [train.batch_schedule] needs 'every', such as \"30 epochs\"");
  if (schedule.limit && *schedule.limit < train.global_batch)
    reader.refuse_together(
        {"train.batch_schedule.limit", "train.global_batch"},
        fmt::format("'limit' = {} in [train.batch_schedule] is below 'global_batch' = {}",
                    *schedule.limit, train.global_batch));
}

void check_optimizer(const OptimizerConfig& optimizer, Reader& reader) {
  if (optimizer.nesterov && optimizer.momentum == 0)
    reader.refuse_together({"optimizer.nesterov", "optimizer.momentum"},
                           "'nesterov' in [optimizer] needs a 'momentum' above 0");
  if (optimizer.schedule.kind == ScheduleConfig::Kind::step && !optimizer.schedule.every)
    reader.refuse_together({"optimizer.schedule.kind", "optimizer.schedule.every"},
                           "a step schedule needs 'every', such as \"30 epochs\"");
}

/// A rate that depends on the end of the run needs a run with a known end.
void check_schedule_end(const RunConfig& config, Reader& reader) {
  if (config.train.epochs || config.train.steps) return;
  using Kind = ScheduleConfig::Kind;
  const ScheduleConfig& schedule = config.optimizer.schedule;
  auto is_percent = [](const Period& period) { return period.unit == PeriodUnit::percent; };
  bool descends = schedule.kind == Kind::polynomial || schedule.kind == Kind::cosine;
  if (descends || is_percent(schedule.warmup) || (schedule.every && is_percent(*schedule.every)))
    reader.refuse_together(
        {"optimizer.schedule", "train.until", "train.epochs", "train.steps"},
        "the schedule depends on the length of the run; add 'epochs' or 'steps' to [train]");
}

/// Checks a metric that the key at `path` uses during training.
void check_metric(std::string_view path, const Metric& metric, const RunConfig& config,
                  Reader& reader) {
  if (metric.set == Metric::Set::train) return;
  bool is_test = metric.set == Metric::Set::test;
  const std::string& samples = is_test ? config.data.test : config.data.validation;
  std::string_view key = is_test ? "test" : "validation", word = to_word(metric);
  if (samples.empty())
    reader.refuse_together({path, is_test ? "data.test" : "data.validation"},
                           fmt::format("{0} needs {1} samples; add '{1}' to [data]", word, key));
  // Choosing by the test set would make its result a biased estimate.
  else if (metric.set != config.evaluated_set())
    reader.refuse_together(
        {path, "data.validation"},
        fmt::format("with 'validation' in [data] the test samples are evaluated once, at the end; "
                    "use {} instead of {}",
                    to_word(Metric{Metric::Set::validation, metric.measure}), word));
  else if (config.train.evaluate.unit == PeriodUnit::never)
    reader.refuse_together({path, "train.evaluate"},
                           fmt::format("'{}' is never computed with evaluate = \"never\" in "
                                       "[train]; remove evaluate or the use of it",
                                       word));
}

void check_metrics(const RunConfig& config, Reader& reader) {
  if (config.train.until) check_metric("train.until", config.train.until->metric, config, reader);
  if (config.checkpoint.best)
    check_metric("checkpoint.best", *config.checkpoint.best, config, reader);
  if (!config.train.patience) return;
  if (config.checkpoint.best && config.checkpoint.best->set == Metric::Set::train)
    reader.refuse_together({"train.patience", "checkpoint.best"},
                           "'patience' in [train] counts evaluations, but best = \"loss\" in "
                           "[checkpoint] looks at none; choose another metric");
  else if (config.data.validation.empty() && config.data.test.empty())
    reader.refuse_together(
        {"train.patience", "data.validation"},
        "'patience' in [train] needs samples to evaluate; add 'validation' to [data]");
  else
    check_metric("train.patience", *config.best_metric(), config, reader);
}

void check_plan(const ParallelConfig& parallel, Reader& reader) {
  const PlanConfig& plan = parallel.plan;
  if (plan.name == "single" && parallel.devices > 1)
    reader.refuse_together(
        {"parallel.devices", "parallel.plan"},
        fmt::format("plan = \"single\" uses one device, but devices = {}; choose another 'plan' in "
                    "[parallel], such as \"data\"",
                    parallel.devices));
  std::int64_t degrees = plan.data * plan.tensor * plan.pipeline;
  if (plan.name.empty() && degrees != parallel.devices)
    reader.refuse_together({"parallel.plan", "parallel.devices"},
                           fmt::format("the degrees of 'plan' in [parallel] make {} devices, but "
                                       "devices = {}; change one of them",
                                       degrees, parallel.devices));
}

/// A plan file contains these settings itself.
void check_plan_file(const ParallelConfig& parallel, Reader& reader) {
  if (!parallel.plan.is_file()) return;
  if (parallel.micro_batches != ParallelConfig{}.micro_batches)
    reader.refuse_together(
        {"parallel.micro_batches", "parallel.plan"},
        fmt::format("micro_batches = {} has no effect with a plan file; leave it out here and set "
                    "\"micro_batches\" in {}",
                    parallel.micro_batches, parallel.plan.name));
  if (parallel.weights != ParallelConfig{}.weights)
    reader.refuse_together(
        {"parallel.weights", "parallel.plan"},
        fmt::format("weights = \"measured\" has no effect with a plan file; leave it out here and "
                    "set \"weights\" of each operator in {}",
                    parallel.plan.name));
  auto refuse_flag = [&](const std::string& key) {
    reader.refuse_together(
        {"parallel." + key, "parallel.plan"},
        fmt::format("{} has no effect with a plan file; leave it out here and set \"{}\" in "
                    "\"sync\" of {}",
                    key, key, parallel.plan.name));
  };
  if (parallel.sliced_update) refuse_flag("sliced_update");
  if (!parallel.carry_updates) refuse_flag("carry_updates");
}

void check_fixed_order(const RunConfig& config, Reader& reader) {
  if (config.parallel.order != ParallelConfig::Order::fixed) return;
  // A fixed order adds the shards as a binary tree, in which each device holds a whole subtree.
  auto shards = static_cast<std::uint64_t>(config.train.shards);
  if (!std::has_single_bit(shards) || config.train.shards % config.parallel.devices != 0)
    reader.refuse_together(
        {"parallel.order", "train.shards", "parallel.devices"},
        fmt::format("order = \"fixed\" needs shards that are a power of two and a multiple of the "
                    "devices; 'shards' in [train] is {}, devices = {}",
                    shards, config.parallel.devices));
  if (config.parallel.weights != ParallelConfig::Weights::equal)
    reader.refuse_together({"parallel.weights", "parallel.order"},
                           "order = \"fixed\" cuts the batch into equal shards; leave out "
                           "weights = \"measured\", or take order = \"fast\"");
}

void check_kernels(const KernelsConfig& kernels, Reader& reader) {
  if (kernels.dtype == DType::f64 && kernels.backend != KernelsConfig::Backend::reference)
    reader.refuse_together(
        {"kernels.dtype", "kernels.backend"},
        "dtype = \"f64\" is available for the reference kernels only; set backend = \"reference\"");
}

}  // namespace

void check_run(const RunConfig& config, Reader& reader) {
  check_length(config.train, reader);
  check_batch(config.train, reader);
  check_optimizer(config.optimizer, reader);
  check_schedule_end(config, reader);
  check_metrics(config, reader);
  check_plan(config.parallel, reader);
  check_plan_file(config.parallel, reader);
  check_fixed_order(config, reader);
  check_kernels(config.kernels, reader);
}

}  // namespace troika::config
