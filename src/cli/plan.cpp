// `troika plan`: finds a strategy for a model on this computer or on the machines of a cluster
// file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "base/durable_file.h"
#include "base/error.h"
#include "cli/checked_option.h"
#include "cli/plan_report.h"
#include "cli/rank_seat.h"
#include "cli/search_progress.h"
#include "cli/simulation_target.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "config/load_run.h"
#include "setup/choose_strategy.h"
#include "setup/device_counts.h"
#include "setup/hosts.h"
#include "setup/optimizer_rules.h"

namespace troika::cli {
namespace {

/// Enough for small models; the live line shows whether plans still get better.
constexpr const char* kDefaultBudget = "30s";
/// Times as many devices, where the machine is too small.
constexpr std::int64_t kMostTimes = 8;

struct PlanArguments {
  SimulationRequest request;
  std::string from;
  bool estimates = false;
  bool explains = false, tries_all = false;
  std::string budget = kDefaultBudget;
  std::int64_t proposals = 0;
  std::int64_t seed = 1;
  std::int64_t top = 5;
  std::string out;
  bool json = false;
};

/// The model, and the machines that a plan is searched for.
struct PlanTask {
  SimulationTarget target;
  std::vector<Machine> machines;
  std::optional<RunFindings> from{};
};

/// The model and machine of a run, as it measured them.
PlanTask task_of_run(const std::string& run) {
  Replan replan = open_replan(run);
  std::vector<Machine> machines{replan.target.on.machine};
  return {std::move(replan.target), std::move(machines), std::move(replan.findings)};
}

PlanTask open_task(const PlanArguments& arguments) {
  if (!arguments.from.empty()) return task_of_run(arguments.from);
  SimulationRequest request = arguments.request;
  bool is_plan = std::filesystem::path(request.target).extension() == ".json";
  // The search replaces whatever plan the file names.
  if (!is_plan) request.overrides.emplace_back("parallel.plan=data");
  PlanTask task{open_simulation(request), {}};
  if (is_plan) {
    task.machines.push_back(task.target.on.machine);
    return task;
  }
  const RunFile file = read_run(request.target, request.overrides);
  bool is_open =
      task.target.is_here && request.devices == 0 && !file.origins.contains("parallel.devices");
  task.machines =
      is_open ? machines_here(file.config) : std::vector<Machine>{task.target.on.machine};
  for (Machine& machine : task.machines)
    machine = with_memory(std::move(machine), parse_wish(request.what_if));
  return task;
}

PlanFinderRequest finder_request(const PlanArguments& arguments, const PlanTask& task,
                                 const Machine& machine) {
  PlanFinderRequest asked{
      .config = task.target.programs.config,
      .model = task.target.programs.model,
      .machine = machine,
      .links = task.target.on.links,
      .base = task.target.programs.strategy,
      .given = task.target.costs,
      .measures = task.target.is_here && !arguments.estimates && arguments.request.costs.empty(),
      .is_here = task.target.is_here};
  if (task.from) asked.first.push_back(task.from->plan);
  auto parts = static_cast<double>(task.machines.size());
  asked.search.seed = static_cast<std::uint64_t>(arguments.seed);
  asked.search.kept = as_index(arguments.top);
  asked.search.threads = usable_threads();
  asked.search.tries_all = arguments.tries_all;
  if (arguments.proposals > 0)
    asked.search.proposals = arguments.proposals;
  else
    asked.search.seconds = parse_seconds(arguments.budget) / parts;
  return asked;
}

/// The best plan with the kernels that it was compared with.
PlanExplanation explain_best(const PlanTask& task, const PlanFinding& finding) {
  SimulationTarget target = task.target;
  target.programs.strategy = finding.best().plan.strategy;
  target.on.machine = finding.machine;
  target.costs = finding.known;
  return explain(simulate_plan(std::move(target), {.measures = false}));
}

/// Whether some ready plan fits so many devices; nothing if the machine cannot have so many, or the
/// batch cannot be cut for them.
std::optional<bool> fits_on(const PlanArguments& arguments, std::int64_t devices) {
  PlanArguments asked = arguments;
  asked.request.devices = devices;
  std::erase_if(asked.request.what_if,
                [](const std::string& word) { return word.starts_with("devices="); });
  asked.estimates = true;
  try {
    PlanTask task = open_task(asked);
    PlanFinderRequest first_plans = finder_request(asked, task, task.machines.front());
    first_plans.search.proposals = 0;
    first_plans.search.seconds.reset();
    (void)find_plan(first_plans);
    return true;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::memory ? std::optional(false) : std::nullopt;
  }
}

/// The same error with how many such devices would be enough, among twice as many and so on.
Error with_enough_devices(const Error& error, const PlanArguments& arguments,
                          const PlanTask& task) {
  if (task.from || task.target.is_here) return error;
  auto now = std::ssize(task.machines.front().devices);
  std::int64_t too_few = 0;
  for (std::int64_t devices = 2 * now; devices <= kMostTimes * now; devices *= 2) {
    std::optional<bool> fits = fits_on(arguments, devices);
    if (fits && *fits)
      return Error(error.kind(),
                   fmt::format("{}; {} such devices would be enough, see --what-if devices={}",
                               error.what(), devices, devices));
    if (fits) too_few = devices;
  }
  if (too_few == 0) return error;
  return Error(error.kind(), fmt::format("{}; {} such devices would not be enough either: more "
                                         "memory is needed, or micro-batches",
                                         error.what(), too_few));
}

std::vector<PlanFinding> find_on_all(const PlanArguments& arguments, const PlanTask& task,
                                     SearchProgress& progress) {
  try {
    return find_on_machines(task.machines, [&](const Machine& machine) {
      PlanFinderRequest asked = finder_request(arguments, task, machine);
      progress.listen(asked.search);
      return find_plan(asked);
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory) throw;
    throw with_enough_devices(error, arguments, task);
  }
}

std::string counts_note(const std::vector<PlanFinding>& findings) {
  std::vector<std::string> texts;
  for (const PlanFinding& finding : findings)
    texts.push_back(fmt::format("{} devices {}", finding.machine.devices.size(),
                                troika::to_string(finding.best().period)));
  return fmt::format("Devices on the cores of this computer: {}.", fmt::join(texts, ", "));
}

void run(const PlanArguments& arguments, Context& context) {
  refuse_mpirun("plan");
  if (arguments.from.empty() == arguments.request.target.empty())
    throw Error(ErrorKind::usage,
                "'troika plan' takes either a run file or a plan, as in 'troika plan run.toml', or "
                "a run that has been measured, as in 'troika plan --from runs/NAME'");
  auto begin = std::chrono::steady_clock::now();
  if (arguments.json) context.console.reserve_out();
  PlanTask task = open_task(arguments);
  SearchProgress progress(context.console);
  std::vector<PlanFinding> findings = find_on_all(arguments, task, progress);
  progress.finish();
  const PlanFinding& best = fastest(findings);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  PlannedPrograms& programs = task.target.programs;
  PlanReport report{.config = programs.config,
                    .finding = best,
                    .graph = programs.model.graphs.front().graph,
                    .seconds = seconds.count(),
                    .seed = static_cast<std::uint64_t>(arguments.seed),
                    .from = task.from,
                    .notes = task.target.notes};
  if (arguments.explains) report.explanation = explain_best(task, best);
  if (findings.size() > 1) report.notes.push_back(counts_note(findings));
  if (!arguments.out.empty()) {
    Strategy made =
        with_origin(best.best().plan.strategy, programs.config, programs.model, best.machine);
    replace_file(arguments.out, to_json(made));
    report.notes.push_back(fmt::format("The plan is in {}; use it with parallel.plan={}",
                                       arguments.out, arguments.out));
  }
  arguments.json ? context.console.print(to_json_text(report))
                 : context.console.write(to_text(report));
}

}  // namespace

Verb add_plan(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<PlanArguments>();  // shared by the parser and the verb
  SimulationRequest& request = arguments->request;
  CLI::App* app = parent.add_subcommand(
      "plan", "Find how to split a model over devices, for the shortest training step");
  app->add_option("RUN.toml|PLAN.json", request.target,
                  "A run file, or a plan whose model and batch count");
  app->add_option("key=value", request.overrides, "Replaces a value of the run file");
  CLI::Option* from = app->add_option(
      "--from", arguments->from,
      "The model, batch and machine of this run folder, with devices and messages as slow as the "
      "run measured them; says what another plan would gain");
  app->add_option("--cluster", request.cluster,
                  "The machines, as a cluster file; default: this computer")
      ->excludes(from);
  take_whole(app->add_option("--devices,-n", request.devices,
                             "So many devices; default: all of the cluster or, on this computer, "
                             "the best number of devices for its cores"),
             {.least = 1, .most = kMostDevices})
      ->excludes(from);
  take_whole(app->add_option("--batch", request.batch, "Another global batch"))->excludes(from);
  app->add_option("--costs", request.costs,
                  "A cost file with kernel times, such as runs/NAME/costs.json; nothing is "
                  "measured then")
      ->excludes(from);
  app->add_flag("--estimate", arguments->estimates,
                "Do not measure kernels; estimate their times from the rates of the device");
  CLI::Option* budget =
      app->add_option("--budget", arguments->budget, "How long to search, such as 10s or 2m")
          ->capture_default_str();
  take_whole(app->add_option("--proposals", arguments->proposals,
                             "How many plans to try, instead of a time; the same seed, proposals "
                             "and costs give the same plan on any computer"))
      ->excludes(budget);
  take_whole(app->add_option("--seed", arguments->seed, "Seed of the search"))
      ->capture_default_str();
  take_whole(app->add_option("--top", arguments->top, "How many of the best plans to compare"),
             {.least = 1, .most = 32})
      ->capture_default_str();
  app->add_flag("--explain", arguments->explains,
                "Say for each operator what other splits would cost, and where the gain over data "
                "parallelism comes from");
  app->add_flag("--exhaustive", arguments->tries_all,
                "After the search, try or exclude every strategy of its space, which takes long "
                "except for small models on few devices");
  app->add_option("--what-if", request.what_if,
                  "Another machine: link=100Gbps or latency=5us between nodes, devices=64, "
                  "memory=16GiB")
      ->allow_extra_args(false)
      ->excludes(from);
  app->add_option("--out", arguments->out, "Write the plan, for 'train' and 'simulate'");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(
      "Ctrl-C ends the search with the best plan so far.\n"
      "Example: find a plan for this computer, keep it and train with it; see whether another one\n"
      "would do better now that steps were measured; find one for a cluster\n"
      "  troika plan run.toml --out plan.json\n"
      "  troika train run.toml parallel.plan=plan.json\n"
      "  troika plan --from runs/digits --out better.json\n"
      "  troika plan run.toml --cluster cluster.toml --costs runs/digits/costs.json --explain");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
