#include "setup/plan_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/error.h"
#include "search/plan_bounds.h"
#include "setup/choose_strategy.h"
#include "setup/optimizer_rules.h"
#include "strategy/ready.h"

namespace troika {
namespace {

/// Searches until the best plan rests on measured kernels, but not more often.
constexpr int kMostSearches = 3;
/// A plan that is shorter than a ready one by less than this part of it, 1 / 200, is not worth
/// being harder to read: predictions are not that good.
constexpr std::int64_t kWorthIt = 200;
/// Ready plans that were scored as this many times longer than the best one are not measured.
constexpr std::int64_t kFarBehind = 2;
/// Kernels of the first few ready plans are measured before the first search, so that estimates
/// have something to follow.
constexpr std::array<std::string_view, 3> kFirstMeasured{"data", "hybrid", "tensor"};
/// More parts of an operator inside a group than this have not been worth trying.
constexpr std::int64_t kMostTensor = 16;

class PlanFinder {
 public:
  explicit PlanFinder(const PlanFinderRequest& asked)
      : asked_(asked),
        graph_(asked.model.graphs.front().graph),
        machine_(asked.machine),
        kernels_({.given = asked.given,
                  .measures = asked.measures,
                  .is_here = asked.is_here,
                  .kernels = asked.config.kernels,
                  .step = step_bytes(asked.model, std::ssize(asked.machine.devices))}),
        optimizer_(make_optimizer(asked.config, graph_)),
        base_(asked.base) {
    kernels_.meet(machine_);
    base_.splits.clear();
    list_ready();
  }

  PlanFinding run() {
    measure_ready();
    search();
    kernels_.finish();
    made_.kernels = kernels_.sources();
    made_.machine = machine_;
    made_.known = known();
    return std::move(made_);
  }

 private:
  LowerRequest request_of(const Strategy& strategy) const {
    return {.name = asked_.model.graphs.front().name,
            .graph = &graph_,
            .strategy = &strategy,
            .machine = &machine_,
            .optimizer = &optimizer_,
            .links = &asked_.links};
  }

  void add_ready(std::string name, const Strategy& made) {
    ready_.push_back({std::move(name), base_});
    ready_.back().strategy.splits = made.splits;
  }

  /// Those that were asked for, then ready plans as a run file names them, and mixtures. Of devices
  /// that are not equally fast each also with tiles in proportion to their speed, since the search
  /// itself only cuts evenly.
  void list_ready() {
    for (const NamedStrategy& first : asked_.first) add_ready(first.name, first.strategy);
    bool is_even = has_equal_devices(machine_);
    auto add = [&](const std::string& name, const Strategy& made) {
      add_ready(name, made);
      if (is_even) return;
      Strategy weighted = weighted_by_speed(made, graph_, machine_);
      if (weighted.splits != made.splits) add_ready(name + " by speed", weighted);
    };
    Machine linked = with_slowest_link(machine_, asked_.links);
    for (std::string_view name : ready_names())
      add(std::string(name), ready_strategy(name, {graph_, linked, base_.micro_batches}));
    auto devices = std::ssize(machine_.devices);
    for (std::int64_t tensor = 2; tensor < devices && tensor <= kMostTensor; ++tensor)
      if (devices % tensor == 0)
        add(fmt::format("data {} x tensor {}", devices / tensor, tensor),
            mixed_parallel(graph_, {devices / tensor, tensor}));
  }

  void measure_ready() {
    if (!asked_.measures) return;
    for (const NamedStrategy& ready : ready_) {
      if (std::ranges::count(kFirstMeasured, ready.name) == 0) continue;
      if (why_infeasible(ready.strategy, graph_, machine_)) continue;
      try {
        fold_plan(request_of(ready.strategy), answer_, table_);
      } catch (const Error&) {
        // The search says why this plan is not possible.
      }
    }
  }

  /// What is known of kernels: rows that were measured for plans, and those of the cost file.
  KernelTable known() {
    KernelTable all = with_rows(asked_.given, table_);
    const std::string& kind = machine_.devices.front().kind;
    if (all.of(kind).memory_rates.empty())
      all.of(kind).memory_rates = kernels_.timed(machine_).rates;
    return all;
  }

  void search() {
    PlanSearchOptions options = asked_.search;
    options.first = ready_;
    for (int round = 0; round < kMostSearches; ++round) {
      bool is_last = round + 1 == kMostSearches || !asked_.measures;
      // Half of what is left, unless nothing can follow.
      if (!is_last && options.seconds) options.seconds = *asked_.search.seconds / (2 << round);
      if (!is_last) options.proposals = asked_.search.proposals / (2 << round);
      ScoringKernels scoring(known(), machine_);
      note_fit(scoring);
      std::variant<FoundPlans, NoPlan> found = find_plans(request_of(base_), scoring, options);
      if (auto* none = std::get_if<NoPlan>(&found))
        throw Error(ErrorKind::memory, "no plan fits this machine: " + none->reason);
      made_.found = std::move(std::get<FoundPlans>(found));
      made_.searches = round + 1;
      compare_finalists();
      const FoundPlan &compared = made_.best().plan, &scored = made_.found.plans.front();
      bool agrees = compared.origin == scored.origin &&
                    (compared.origin != "search" || compared.strategy == scored.strategy);
      if (agrees || is_last || made_.found.was_stopped) return;
    }
  }

  void note_fit(const ScoringKernels& scoring) {
    const std::string& kind = machine_.devices.front().kind;
    made_.fitted_to = scoring.source_of(kind);
    if (const KernelFit* fit = scoring.fit_of(kind)) {
      made_.fit_error = fit->error();
      made_.fitted_rates = fit->rates();
    }
  }

  void compare_finalists() {
    std::vector<FoundPlan> candidates = made_.found.plans;
    if (candidates.size() > asked_.search.kept) candidates.resize(asked_.search.kept);
    SimTime far = candidates.front().period * kFarBehind;
    for (const NamedStrategy& ready : ready_) {
      const SearchSeed* seed = made_.found.seed(ready.name);
      bool is_far = seed->period && *seed->period > far && ready.name != "data" &&
                    std::ranges::count(asked_.first, ready.name, &NamedStrategy::name) == 0;
      if (!seed->period || (is_far && asked_.measures)) continue;  // kernels of others cost time
      std::erase_if(candidates, [&](const FoundPlan& plan) { return plan.origin == ready.name; });
      candidates.push_back({ready.name, ready.strategy, *seed->period});
    }
    for (const Finalist& earlier : made_.finalists) {
      auto is_same = [&](const FoundPlan& plan) { return plan.strategy == earlier.plan.strategy; };
      if (earlier.plan.origin == "search" && std::ranges::none_of(candidates, is_same))
        candidates.push_back(earlier.plan);
    }
    made_.finalists.clear();
    for (FoundPlan& plan : candidates) made_.finalists.push_back(judge(std::move(plan)));
    std::ranges::stable_sort(made_.finalists, {}, [](const Finalist& finalist) {
      return std::tuple(!finalist.why_not.empty(), finalist.period);
    });
    prefer_ready();
    if (!made_.best().why_not.empty())
      throw Error(ErrorKind::memory, "no plan fits this machine: " + made_.best().why_not);
  }

  /// Moves a ready plan to the front that is almost as fast as the best one.
  void prefer_ready() {
    auto is_as_good = [&](const Finalist& finalist) {
      return finalist.plan.origin != "search" && finalist.why_not.empty() &&
             finalist.period.count * kWorthIt <= made_.best().period.count * (kWorthIt + 1);
    };
    auto ready = std::ranges::find_if(made_.finalists, is_as_good);
    if (ready != made_.finalists.end()) std::rotate(made_.finalists.begin(), ready, ready + 1);
  }

  Finalist judge(FoundPlan plan) {
    Finalist made{.plan = std::move(plan)};
    PredictedProgram predicted =
        predict_program(request_of(made.plan.strategy), answer_, table_,
                        {.timed = [&] { return kernels_.timed(machine_); }});
    made.period = predicted.time;
    made.sent = all_sent_bytes(predicted);
    made.classes = predicted.folded.classes.count();
    const Classes& classes = predicted.folded.classes;
    for (std::size_t device = 0; device < machine_.devices.size(); ++device) {
      Bytes needed = predicted.memory[as_index(classes.of_device[device])].total();
      Bytes available = machine_.devices[device].memory;
      made.memory = std::max(made.memory, needed);
      if (available.count > 0 && needed > available)
        made.why_not = fmt::format("device {} would need {}, but has {}", device, to_string(needed),
                                   to_string(available));
    }
    return made;
  }

  const PlanFinderRequest& asked_;
  const Graph& graph_;
  Machine machine_;
  PlanKernels kernels_;
  const KernelAnswer answer_ = [this](const auto& rows) { return kernels_.answer(rows); };
  OptimizerSpec optimizer_;
  Strategy base_;
  std::vector<NamedStrategy> ready_;
  KernelTable table_;
  PlanFinding made_;
};

}  // namespace

const Finalist* PlanFinding::find(std::string_view origin) const {
  auto at = std::ranges::find_if(
      finalists, [&](const Finalist& finalist) { return finalist.plan.origin == origin; });
  return at == finalists.end() ? nullptr : &*at;
}

void require_searchable(const zoo::Model& model) {
  if (model.graphs.size() == 1) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("a step of '{}' is {} programs, and plans can be searched for models whose "
                  "step is one; use a ready plan: {}",
                  model.name, model.graphs.size(), fmt::join(ready_names(), ", ")));
}

PlanFinding find_plan(const PlanFinderRequest& request) {
  require_searchable(request.model);
  return PlanFinder(request).run();
}

std::vector<PlanFinding> find_on_machines(const std::vector<Machine>& machines,
                                          const std::function<PlanFinding(const Machine&)>& find) {
  std::vector<PlanFinding> findings;
  std::optional<Error> too_large;
  for (const Machine& machine : machines) {
    try {
      findings.push_back(find(machine));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      if (!too_large) too_large = error;
    }
  }
  if (findings.empty()) throw *too_large;
  return findings;
}

const PlanFinding& fastest(const std::vector<PlanFinding>& findings) {
  return *std::ranges::min_element(
      findings, {}, [](const PlanFinding& finding) { return finding.best().period; });
}

}  // namespace troika
