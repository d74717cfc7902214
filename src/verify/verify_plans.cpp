#include "verify/verify_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "setup/choose_strategy.h"
#include "setup/known_links.h"
#include "setup/live_model.h"
#include "setup/optimizer_rules.h"
#include "train/training_sets.h"
#include "verify/verify_trial.h"

namespace troika {
namespace {

/// A plan as the user wrote it, and the run it means.
struct Asked {
  std::string text;
  RunConfig config;
  Strategy strategy{};
};

/// Reduces the run to its first steps, with kernels that do not depend on measurements.
RunConfig trimmed(RunConfig config, const VerifyOptions& options) {
  config.data.test.clear();
  config.checkpoint.best.reset();
  // All trials must take the same steps, so none may end by its own figures.
  config.train.until.reset();
  config.train.patience.reset();
  // The length stays that of the run if it has one, since the learning rate may depend on it; the
  // trial stops itself after options.steps.
  if (!config.train.steps && !config.train.epochs) config.train.steps = options.steps;
  // Losses are read from reports, so there must be one per step.
  config.log.every = {1, PeriodUnit::steps};
  config.kernels.backend =
      options.cpu_kernels ? KernelsConfig::Backend::cpu : KernelsConfig::Backend::reference;
  config.kernels.dtype = options.cpu_kernels ? DType::f32 : DType::f64;
  // Plans have tiles of different sizes, and these must not select different algorithms.
  config.kernels.winograd = false;
  config.kernels.measure = false;
  // The number of threads changes the order of sums, so it must not depend on the machine where the
  // comparison is exact.
  if (!options.cpu_kernels || config.parallel.order == ParallelConfig::Order::fixed)
    config.parallel.threads = config.parallel.threads.value_or(1);
  return config;
}

RunConfig on_devices(RunConfig config, std::int64_t devices, const std::string& plan) {
  config.parallel.devices = devices;
  config.parallel.plan = {};
  config.parallel.plan.name = plan;
  return config;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::optional<std::int64_t> value = parse_number<std::int64_t>(text);
  return value && *value > 0 ? value : std::nullopt;
}

/// Returns the number of devices that a plan needs. Throws Error(usage) if their numbers have a
/// gap.
std::int64_t devices_of(const Strategy& strategy, const std::string& plan) {
  NamedDevices named = named_devices(strategy);
  if (!named.has_gap()) return named.largest + 1;
  std::string known = strategy.made_on ? fmt::format("was made for {}", named.known)
                                       : fmt::format("uses {} in all", named.known);
  throw Error(ErrorKind::usage,
              fmt::format("the plan names device {0} but {1}; number its devices from 0 without "
                          "gaps, or write {2}:{3} for a run on {3} devices",
                          named.largest, known, plan, named.largest + 1));
}

Machine machine_of(std::int64_t devices) {
  Machine machine;
  machine.devices.resize(static_cast<std::size_t>(devices));
  return machine;
}

zoo::Model model_of(const RunConfig& config, const data::Dataset& samples) {
  return build_model(config.model,
                     samples_of(samples.encoding(), config, config.train.global_batch));
}

Asked read_asked(const std::string& text, const RunConfig& base, const zoo::Model& model) {
  // The last colon, because the path of a plan file may contain others.
  std::size_t colon = text.rfind(':');
  std::string plan = text.substr(0, colon);
  std::optional<std::int64_t> devices;
  if (colon != std::string::npos) {
    devices = parse_count(std::string_view(text).substr(colon + 1));
    if (!devices)
      throw Error(
          ErrorKind::usage,
          fmt::format("plan '{}' does not end with a number of devices; write data:4, for example",
                      text));
  }
  bool is_file = plan.ends_with(".json");
  if (!devices && !is_file && plan != "single")
    throw Error(
        ErrorKind::usage,
        fmt::format("plan '{0}' needs a number of devices; write {0}:2, for example", plan));
  Asked asked{text, on_devices(base, devices.value_or(1), plan)};
  LinkCosts links = known_link_costs(default_links_file(base.kernels.cache));
  asked.strategy = choose_strategy({asked.config, model, machine_of(devices.value_or(1)), links});
  if (is_file && !devices) asked.config.parallel.devices = devices_of(asked.strategy, plan);
  return asked;
}

/// Returns why the plan cannot run; empty if it can.
std::string find_obstacle(const Asked& asked, const zoo::Model& model) {
  if (auto reason = why_for_another_model(asked.strategy, model.train())) return *reason;
  for (const zoo::NamedGraph& named : model.graphs) {
    if (auto reason = why_infeasible(restricted(asked.strategy, named.graph), named.graph,
                                     machine_of(asked.config.parallel.devices)))
      return *reason + batch_note(asked.strategy, asked.config.train.global_batch);
  }
  return {};
}

/// Checks all plans before the first run, which may take minutes, and reports all errors at once.
std::vector<Asked> read_plans(const RunConfig& base, const VerifyOptions& options) {
  std::unique_ptr<data::Dataset> samples = std::move(open_sets(base).train);
  zoo::Model model = model_of(base, *samples);
  std::vector<Asked> plans;
  std::string obstacles;
  for (const std::string& text : options.plans) {
    plans.push_back(read_asked(text, base, model));
    if (std::string why = find_obstacle(plans.back(), model); !why.empty())
      obstacles +=
          fmt::format("{}plan '{}' cannot run: {}", obstacles.empty() ? "" : "\n", text, why);
  }
  if (!obstacles.empty()) throw Error(ErrorKind::usage, obstacles);
  return plans;
}

/// Sets the allowed distance of each finding: 0 for a fixed order, which promises equal bits.
void allow(std::vector<Finding>& findings, const Asked& asked, const VerifyOptions& options,
           const Sensitivity* sensitivity) {
  bool is_fixed = asked.config.parallel.order == ParallelConfig::Order::fixed &&
                  asked.strategy.sync.fixed_order;
  double usual = options.cpu_kernels ? float_tolerance(0) : kExactTolerance;
  for (Finding& finding : findings)
    finding.allowed = options.tolerance.value_or(is_fixed ? 0 : usual);
  if (sensitivity != nullptr) sensitivity->allow(findings);
}

PlanVerdict judge(const Asked& asked, const VerifyOptions& options, const Trained& truth,
                  Sensitivity* sensitivity) {
  Trained found = run_trial({.config = asked.config,
                             .steps = options.steps,
                             .from = options.from,
                             .strategy = asked.strategy});
  PlanVerdict verdict{asked.text, asked.config.parallel.devices, found.losses.back(),
                      compare_trained(found, truth)};
  allow(verdict.findings, asked, options, sensitivity);
  // Before calling a plan different, measure more: a sign that rarely flips may not have shown yet.
  while (sensitivity != nullptr && !verdict.agrees() && sensitivity->nudge())
    allow(verdict.findings, asked, options, sensitivity);
  return verdict;
}

/// Returns the most sensitive tensor after each compared step.
std::vector<Finding> by_step(const std::vector<Finding>& all) {
  std::map<std::int64_t, Finding> most;
  for (const Finding& finding : all)
    if (finding.value != kLossName && finding.distance >= most[finding.step].distance)
      most[finding.step] = finding;
  std::vector<Finding> steps;
  for (const auto& [step, finding] : most) steps.push_back(finding);
  return steps;
}

}  // namespace

const Finding* PlanVerdict::first() const {
  auto beyond = [](const Finding& finding) { return !finding.agrees(); };
  auto tensor = std::ranges::find_if(findings, [&](const Finding& finding) {
    return finding.value != kLossName && beyond(finding);
  });
  // The name of a tensor says more than that the loss differs, so a loss is named only if no tensor
  // differs.
  if (tensor == findings.end()) tensor = std::ranges::find_if(findings, beyond);
  return tensor == findings.end() ? nullptr : &*tensor;
}

const Finding& PlanVerdict::largest() const {
  auto exhausted = [](const Finding& finding) {
    // The share of the tolerance that is used up; with equal bits asked for, the distance itself.
    return finding.allowed > 0 ? finding.distance / finding.allowed : finding.distance;
  };
  return *std::ranges::max_element(findings, {}, exhausted);
}

bool PlanVerdict::has_same_bits() const {
  return std::ranges::all_of(findings,
                             [](const Finding& finding) { return finding.distance == 0; });
}

PlanVerdicts verify_plans(const RunConfig& config, const VerifyOptions& options,
                          const VerifyNote& note) {
  auto tell = [&](const std::string& text) { note ? note(text) : void(); };
  RunConfig base = trimmed(config, options);
  RunConfig one_device = on_devices(base, 1, "single");
  std::vector<Asked> plans = read_plans(base, options);
  tell("one device");
  Trial alone{.config = one_device, .steps = options.steps, .from = options.from};
  Trained truth = run_trial(alone);
  PlanVerdicts verdicts{.steps = static_cast<std::int64_t>(truth.losses.size()),
                        .loss = truth.losses.back()};
  // Sensitivity costs at least four more runs, so it is measured only where it decides: in f32,
  // with sums in any order, and without a tolerance from the user.
  bool is_noisy = base.parallel.order != ParallelConfig::Order::fixed;
  std::optional<Sensitivity> sensitivity;
  if (options.cpu_kernels && !options.tolerance && is_noisy) {
    tell("one device, other last digits");
    sensitivity.emplace(alone, truth);
  }
  for (const Asked& asked : plans) {
    tell(asked.text);
    verdicts.plans.push_back(judge(asked, options, truth, sensitivity ? &*sensitivity : nullptr));
  }
  if (sensitivity) verdicts.sensitivity = by_step(sensitivity->largest());
  return verdicts;
}

}  // namespace troika
