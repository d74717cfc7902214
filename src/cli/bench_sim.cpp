// `troika bench sim`: how fast the simulator is.
#include <fmt/format.h>

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
#include "cli/timed_moves.h"
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
  std::vector<double> repeats_ms;  ///< Each simulation until the period is known.
  bool agrees = true;              ///< All repeats gave the same times.
  MoveTimes moves;

  double simulation_ms() const { return median(repeats_ms); }
  /// Counts all passes that a simulation takes, and of messages their starts and finishes.
  double tasks_per_second() const {
    return static_cast<double>(tasks * passes) * 1e3 / simulation_ms();
  }
};

/// Medians over the moves.
struct MoveFigures {
  double change, delta, together, undo, full, scratch;
};

MoveFigures figures_of(const MoveTimes& moves) {
  std::vector<double> together, scratch;
  for (std::size_t at = 0; at < moves.delta.size(); ++at) {
    together.push_back(moves.change[at] + moves.delta[at]);
    scratch.push_back(moves.scratch[at] + moves.full[at]);
  }
  return {median(moves.change), median(moves.delta), median(together),
          median(moves.undo),   median(moves.full),  median(scratch)};
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
    figures.moves = time_moves(
        {.request = asked, .answer = answer, .table = table, .seconds = arguments.seconds});
  });
  figures.classes = folded->classes.count();
  time_simulations(*folded, arguments.seconds, figures);
  figures.agrees = figures.agrees && figures.moves.agrees;
  return figures;
}

nlohmann::ordered_json json_of(const MoveTimes& moves) {
  nlohmann::ordered_json json{{"count", moves.delta.size()}};
  if (moves.delta.empty()) return json;
  MoveFigures figures = figures_of(moves);
  json["change_ms"] = figures.change;
  json["delta_ms"] = figures.delta;
  json["change_and_delta_ms"] = figures.together;
  json["undo_ms"] = figures.undo;
  json["full_ms"] = figures.full;
  json["scratch_ms"] = figures.scratch;
  json["delta_speedup"] = figures.full / figures.delta;
  json["change_speedup"] = figures.scratch / figures.together;
  return json;
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
                             {"simulation_ms", figures.simulation_ms()},
                             {"full_simulations_per_second", 1e3 / figures.simulation_ms()},
                             {"tasks_per_second", figures.tasks_per_second()},
                             {"moves", json_of(figures.moves)},
                             {"agrees", figures.agrees},
                             {"step_ms", milliseconds(figures.step)},
                             {"repeats", figures.repeats_ms}}
          .dump());
}

std::vector<Fact> facts_of(const MoveTimes& moves) {
  if (moves.delta.empty()) return {{"moves", "none keeps the classes of devices"}};
  MoveFigures figures = figures_of(moves);
  return {
      {"moves", fmt::format("{} random ones that keep the classes of devices; medians:",
                            moves.delta.size())},
      {"delta simulation", fmt::format("{:.3f} ms, {:.1f} times as fast as a full one of {:.3f}",
                                       figures.delta, figures.full / figures.delta, figures.full)},
      {"change + delta",
       fmt::format("{:.3f} ms, {:.1f} times as fast as planning and simulating anew in {:.3f}",
                   figures.together, figures.scratch / figures.together, figures.scratch)},
      {"undo", moves.undo.empty() ? "none" : fmt::format("{:.3f} ms", figures.undo)}};
}

void print_text(const SimFigures& figures, Console& console) {
  auto [least, most] = std::ranges::minmax(figures.repeats_ms);
  std::vector<Fact> facts{
      {"model", fmt::format("{}, batch {}", figures.model, figures.batch)},
      {"plan", fmt::format("{} on {} devices; {} stand for all", figures.plan, figures.devices,
                           figures.classes)},
      {"folded graph", fmt::format("{} tasks, starts and finishes of {} messages among them",
                                   with_commas(figures.tasks), with_commas(figures.messages))},
      {"planning", fmt::format("{:.2f} ms, with known kernels", figures.planning_ms)},
      {"simulation", fmt::format("{:.3f} ms (from {:.3f} to {:.3f} over {} repeats), {} passes",
                                 figures.simulation_ms(), least, most, figures.repeats_ms.size(),
                                 figures.passes)},
      {"full simulations/s", fmt::format("{:.1f}", 1e3 / figures.simulation_ms())},
      {"tasks/s", with_commas(static_cast<std::int64_t>(figures.tasks_per_second()))},
      {"agreement", figures.agrees ? "all simulations of a plan gave the same times"
                                   : "simulations of a plan differ"},
      {"simulated step", to_string(figures.step)}};
  std::vector<Fact> moves = facts_of(figures.moves);
  facts.insert(facts.end() - 2, moves.begin(), moves.end());
  console.write(format_facts(facts));
}

void run(const BenchSimArguments& arguments, Context& context) {
  refuse_mpirun("bench sim");
  SimFigures figures = measure_simulation(arguments);
  arguments.json ? print_json(figures, context.console) : print_text(figures, context.console);
  if (!figures.agrees) throw Bug("simulations of one plan differ");
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
  take_number(app->add_option("--seconds", arguments->seconds,
                              "Approximate duration of each of the two parts"),
              Zero::refused)
      ->capture_default_str();
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(
      "Times are processor times of one core. Kernel times are made up from the rates of a "
      "device. The first 'simulation' is that of the plan; then the plan is changed by random "
      "moves\n"
      "between ready plans, and simulated again as a search does it (delta simulation).\n"
      "JSON: 'moves' has medians in ms: change_ms (of the plan), delta_ms (simulating it again),\n"
      "change_and_delta_ms, undo_ms (of both), full_ms (simulating the whole changed plan),\n"
      "scratch_ms (planning it anew and full_ms), delta_speedup = full / delta, change_speedup =\n"
      "scratch / change_and_delta. 'agrees': delta and full simulation gave the same times.\n"
      "Example:\n  troika bench sim --model inception_v3 --devices 64");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
