// `troika bench sim`: how fast the simulator is.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench_case.h"
#include "cli/bench_step.h"
#include "cli/checked_option.h"
#include "cli/planned_programs.h"
#include "cli/rank_seat.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "machine/cluster.h"
#include "setup/choose_strategy.h"
#include "setup/plan_kernels.h"
#include "setup/predicted_plan.h"
#include "sim/loop_body.h"
#include "sim/loop_period.h"

namespace troika::cli {
namespace {

struct BenchSimArguments {
  BenchRequest request;
  double seconds = 1;
  bool json = false;
};

constexpr std::int64_t kDevicesOfNode = 8;

struct SimFigures {
  std::string model, plan;
  std::int64_t devices = 0, batch = 0, classes = 0, tasks = 0, messages = 0, passes = 0;
  SimTime step{};
  double planning_ms = 0;          ///< From the strategy to the folded graph.
  std::vector<double> repeats_ms;  ///< Of each simulation until the period is known.
  bool agrees = true;              ///< All repeats gave the same times.

  double milliseconds() const { return median(repeats_ms); }
  /// Of all passes that a simulation takes; messages count by their starts and finishes.
  double tasks_per_second() const {
    return static_cast<double>(tasks * passes) * 1e3 / milliseconds();
  }
};

/// Milliseconds of processor time of this thread.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Nodes of eight devices, or one node where that does not come out even.
Machine machine_of_nodes(std::int64_t devices) {
  bool even = devices % kDevicesOfNode == 0;
  return make_machine({.nodes = {{.count = even ? devices / kDevicesOfNode : 1,
                                  .devices = even ? kDevicesOfNode : devices,
                                  .kind = "estimated"}}});
}

/// The times of all tasks: equal runs are equal in all of them.
void time_simulations(const FoldedGraph& graph, double seconds, SimFigures& figures) {
  const SteadyLoop expected = simulate_loop(graph);
  figures.step = expected.period;
  double begin = processor_ms();
  do {
    double start = processor_ms();
    LoopBody body = loop_body(graph);
    LoopPeriod period = find_period(body);
    figures.repeats_ms.push_back(processor_ms() - start);
    figures.tasks = std::ssize(body.tasks);
    figures.messages = std::ssize(body.messages);
    figures.passes = period.passes;
    figures.agrees = figures.agrees && period.time == expected.period;
  } while (processor_ms() - begin < seconds * 1e3);
  const SteadyLoop again = simulate_loop(graph);
  figures.agrees =
      figures.agrees && again.period == expected.period && again.pass.spans == expected.pass.spans;
}

SimFigures measure_simulation(const BenchSimArguments& arguments) {
  BenchRequest request = arguments.request;
  BenchCase made = make_bench_case(request);
  // At least one sample for each device.
  made.samples.batch = std::max<std::int64_t>(made.samples.batch, request.devices);
  made.config.train.global_batch = made.samples.batch;
  zoo::Model model = build_model(made.config.model, made.samples);
  Machine machine = machine_of_nodes(request.devices);
  LinkCosts links = assumed_link_costs();  // nothing here depends on this computer
  Strategy strategy = choose_strategy({made.config, model, machine, links});
  SimFigures figures{.model = request.model,
                     .plan = made.config.parallel.plan.name,
                     .devices = request.devices,
                     .batch = made.samples.batch};
  PlanKernels kernels({});
  auto answer = [&](const std::vector<KernelRequest>& rows) { return kernels.answer(rows); };
  KernelTable table;
  std::optional<FoldedGraph> folded;
  PlannedPrograms programs{std::move(strategy), made.config, std::move(model)};
  for_each_program(programs, machine, [&](const LowerRequest& asked) {
    if (folded) return;               // the first program of a model with several
    fold_plan(asked, answer, table);  // adds the rows
    double start = processor_ms();
    folded = fold_plan(asked, answer, table);
    figures.planning_ms = processor_ms() - start;
  });
  figures.classes = folded->classes.count();
  time_simulations(*folded, arguments.seconds, figures);
  return figures;
}

void print_json(const SimFigures& figures, Console& console) {
  console.print(
      nlohmann::ordered_json{{"model", figures.model},
                             {"devices", figures.devices},
                             {"plan", figures.plan},
                             {"batch", figures.batch},
                             {"classes", figures.classes},
                             {"tasks", figures.tasks},
                             {"messages", figures.messages},
                             {"passes", figures.passes},
                             {"planning_ms", figures.planning_ms},
                             {"simulation_ms", figures.milliseconds()},
                             {"full_simulations_per_second", 1e3 / figures.milliseconds()},
                             {"tasks_per_second", figures.tasks_per_second()},
                             {"agrees", figures.agrees},
                             {"step_ms", static_cast<double>(figures.step.count) / 1e6},
                             {"repeats", figures.repeats_ms}}
          .dump());
}

void print_text(const SimFigures& figures, Console& console) {
  auto [least, most] = std::ranges::minmax(figures.repeats_ms);
  console.write(format_facts(
      {{"model", fmt::format("{}, batch {}", figures.model, figures.batch)},
       {"plan", fmt::format("{} on {} devices; {} stand for all", figures.plan, figures.devices,
                            figures.classes)},
       {"folded graph", fmt::format("{} tasks, starts and finishes of {} messages among them",
                                    with_commas(figures.tasks), with_commas(figures.messages))},
       {"planning", fmt::format("{:.2f} ms, with known kernels", figures.planning_ms)},
       {"simulation", fmt::format("{:.3f} ms (from {:.3f} to {:.3f} over {} repeats), {} passes",
                                  figures.milliseconds(), least, most, figures.repeats_ms.size(),
                                  figures.passes)},
       {"full simulations/s", fmt::format("{:.1f}", 1e3 / figures.milliseconds())},
       {"tasks/s", with_commas(static_cast<std::int64_t>(figures.tasks_per_second()))},
       {"agreement", figures.agrees ? "all repeats gave the same times" : "repeats differ"},
       {"simulated step", to_string(figures.step)}}));
}

void run(const BenchSimArguments& arguments, Context& context) {
  refuse_mpirun("bench sim");
  SimFigures figures = measure_simulation(arguments);
  arguments.json ? print_json(figures, context.console) : print_text(figures, context.console);
  if (!figures.agrees) throw Bug("repeated simulations of one plan differ");
}

}  // namespace

Verb add_bench_sim(CLI::App& bench, Context& context) {
  auto arguments = std::make_shared<BenchSimArguments>();  // shared by the parser and the verb
  CLI::App* app =
      bench.add_subcommand("sim", "Time the simulator on a model and a plan, on one core");
  BenchRequest& request = arguments->request;
  app->add_option("--model", request.model, "A model (see troika models), or gpt2-small")
      ->required();
  take_whole(app->add_option("--devices,-n", request.devices,
                             "Devices, in nodes of 8 where that comes out even")
                 ->required(),
             {.least = 1, .most = kMostDevices});
  app->add_option("--plan", request.plan, "A plan name; default on several devices: data");
  take_whole(app->add_option("--batch", request.batch,
                             "Global batch; default: the model's benchmark batch, but at least "
                             "one sample for each device"));
  take_number(app->add_option("--seconds", arguments->seconds, "Approximate duration"),
              Zero::refused)
      ->capture_default_str();
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(
      "Times are processor times of one core. Kernel times are made up from the rates of a "
      "device.\n"
      "Example:\n  troika bench sim --model inception_v3 --devices 64");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
