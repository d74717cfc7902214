#include "setup/auto_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/durable_file.h"
#include "base/error.h"
#include "config/cache_folder.h"
#include "setup/choose_strategy.h"
#include "setup/hosts.h"
#include "setup/plan_summary.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// Changes whenever the search or the simulator does, so that plans are searched for again.
constexpr std::string_view kCacheVersion = "auto plan 2";

/// Everything that a plan depends on, apart from the kernels' times, which follow from the
/// processor and the build.
std::string key_of(const AutoPlanRequest& asked) {
  // The origin has the hash of the model, its options, the batch and the optimizer.
  std::string key = fmt::format("{} {}\n{}\n", kCacheVersion, measured_by(), to_json(asked.links));
  for (const Machine& machine : asked.machines) {
    key += to_json(with_origin({}, asked.config, asked.model, machine));
    for (const DeviceSpec& device : machine.devices)
      key += fmt::format("{} {} {} {} {}\n", device.kind, device.node, device.rank,
                         device.memory.count, device.slowdown);
  }
  const ParallelConfig& parallel = asked.config.parallel;
  const KernelsConfig& kernels = asked.config.kernels;
  return key + fmt::format("{} {} {} {} {} {} {}", parallel.micro_batches, parallel.sliced_update,
                           parallel.carry_updates, kernels.winograd, kernels.measure,
                           to_string(kernels.dtype), fmt::join(asked.config.train.freeze, " "));
}

fs::path cached_file(const AutoPlanRequest& asked) {
  fs::path folder = cache_folder(asked.config.kernels.cache);
  if (folder.empty()) return {};
  return folder / "plans" / fmt::format("{:016x}.json", hash_text(key_of(asked)));
}

/// Nothing if there is no such file, or a damaged one.
std::optional<Strategy> read_cached(const fs::path& file) {
  if (file.empty() || !fs::exists(file)) return std::nullopt;
  try {
    return load_strategy(file.string());
  } catch (const Error&) {
    return std::nullopt;
  }
}

void keep(const Strategy& strategy, const fs::path& file) {
  if (file.empty()) return;
  try {
    make_folder(file.parent_path());
    replace_file(file, to_json(strategy));
  } catch (const Error&) {
    // The next run searches again.
  }
}

}  // namespace

void require_auto_possible(const RunConfig& config, const zoo::Model& model) {
  if (config.parallel.order == ParallelConfig::Order::fixed)
    throw Error(ErrorKind::usage,
                "parallel.order = \"fixed\" sums whole shards in a fixed tree order, which plan "
                "\"auto\" does not keep; use plan \"data\"");
  if (config.parallel.weights == ParallelConfig::Weights::measured)
    throw Error(ErrorKind::usage,
                "parallel.weights = \"measured\" weights the tiles of ready plans, not those of "
                "plan \"auto\"; use a ready plan");
  require_searchable(model);
}

AutoPlan find_auto_plan(const AutoPlanRequest& asked) {
  require_auto_possible(asked.config, asked.model);
  fs::path file = cached_file(asked);
  if (std::optional<Strategy> known = read_cached(file); known && known->made_on)
    return {*known,
            known->made_on->devices,
            {fmt::format("plan of an earlier search: {}", file.string())}};
  auto begin = std::chrono::steady_clock::now();
  std::vector<PlanFinding> findings = find_on_machines(asked.machines, [&](const Machine& machine) {
    PlanFinderRequest request{.config = asked.config,
                              .model = asked.model,
                              .machine = machine,
                              .links = asked.links,
                              .base = base_strategy(asked.config),
                              .is_here = true,
                              .search = asked.search};
    request.search.threads = usable_threads();
    if (request.search.seconds)
      *request.search.seconds /= static_cast<double>(asked.machines.size());
    return find_plan(request);
  });
  const PlanFinding& best = fastest(findings);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  AutoPlan made{
      .strategy = with_origin(best.best().plan.strategy, asked.config, asked.model, best.machine),
      .devices = std::ssize(best.machine.devices),
      .reasons = reasons_of(best, asked.model.graphs.front().graph, seconds.count())};
  keep(made.strategy, file);
  return made;
}

}  // namespace troika
