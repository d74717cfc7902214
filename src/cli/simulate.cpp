// `troika simulate`: how long a step takes under a plan, without running it.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/durable_file.h"
#include "base/error.h"
#include "cli/checked_option.h"
#include "cli/rank_seat.h"
#include "cli/run_comparison.h"
#include "cli/simulated_plan.h"
#include "cli/verb.h"

namespace troika::cli {
namespace {

struct SimulateArguments {
  SimulationRequest request;
  bool estimates = false;
  std::string against;
  bool orders_messages = false;
  std::string out;
  std::string trace;
  bool json = false;
};

void compare(const SimulateArguments& arguments, Context& context) {
  RunComparison comparison = compare_with_run(arguments.against, arguments.request.costs);
  if (!arguments.trace.empty()) replace_file(arguments.trace, comparison.trace);
  if (arguments.json) return context.console.print(to_json_text(comparison));
  context.console.write(to_text(comparison));
}

void run(const SimulateArguments& arguments, Context& context) {
  refuse_mpirun("simulate");
  if (arguments.against.empty() == arguments.request.target.empty())
    throw Error(
        ErrorKind::usage,
        "'troika simulate' takes either a plan or a run file, as in 'troika simulate "
        "plan.json', or a run to compare with, as in 'troika simulate --against runs/NAME'");
  if (!arguments.against.empty()) return compare(arguments, context);
  SimulatedPlan plan = simulate_plan(
      open_simulation(arguments.request),
      {.measures = !arguments.estimates, .orders_messages = arguments.orders_messages});
  if (!arguments.out.empty()) replace_file(arguments.out, plan_text(plan));
  if (!arguments.trace.empty()) replace_file(arguments.trace, trace_of(plan));
  if (arguments.json) return context.console.print(to_json_text(plan));
  context.console.write(to_text(plan));
}

}  // namespace

Verb add_simulate(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<SimulateArguments>();  // shared by the parser and the verb
  SimulationRequest& request = arguments->request;
  CLI::App* app = parent.add_subcommand(
      "simulate", "Predict the time and memory of a training step under a plan");
  app->add_option("PLAN.json|RUN.toml", request.target, "A plan file or a run file");
  app->add_option("key=value", request.overrides, "Replaces a value of the run file");
  CLI::Option* against = app->add_option(
      "--against", arguments->against,
      "Compare the measured steps of this run folder with their prediction, and say why they "
      "differ");
  app->add_option("--cluster", request.cluster,
                  "The machine, as a cluster file; default: what the plan says of its machine, for "
                  "a run file this computer")
      ->excludes(against);
  take_whole(app->add_option("--devices", request.devices,
                             "Make a ready plan, such as \"data\", for so many devices: more nodes "
                             "of the cluster or, without one, more devices like those of the plan. "
                             "The global batch stays the same"),
             {.least = 1, .most = kMostDevices})
      ->excludes(against);
  take_whole(app->add_option("--batch", request.batch, "Another global batch"))->excludes(against);
  app->add_option("--costs", request.costs,
                  "A cost file with kernel times, such as runs/NAME/costs.json; default: those "
                  "measured on this computer");
  app->add_flag("--estimate", arguments->estimates,
                "Do not measure kernels; estimate their times from the rates of the device")
      ->excludes(against);
  app->add_option("--what-if", request.what_if,
                  "Another machine: link=100Gbps or latency=5us between nodes, devices=64, "
                  "memory=16GiB")
      ->allow_extra_args(false)
      ->excludes(against);
  CLI::Option* order =
      app->add_flag("--order-messages", arguments->orders_messages,
                    "Let the messages go first that the longest chains of tasks wait for, and try "
                    "other sizes of gradient buckets; only what makes the step shorter is kept")
          ->excludes(against);
  app->add_option("--out", arguments->out,
                  "With --order-messages: write the plan with that order, for 'train' and "
                  "'bench step --plan'")
      ->needs(order);
  app->add_option("--trace", arguments->trace,
                  "Write a Chrome trace of the step, with the memory over time");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(
      "Kernels of devices that are not of this computer, and not in the cost file, take what the\n"
      "rates in the cluster file allow (the roofline of the device).\n"
      "Example: the plan of a run and how far off its prediction was; a run file on 64 devices,\n"
      "then with faster links\n"
      "  troika simulate runs/digits/plan.json\n"
      "  troika simulate --against runs/digits --trace both.json\n"
      "  troika simulate run.toml --cluster cluster.toml --devices 64\n"
      "  troika simulate run.toml --cluster cluster.toml --devices 64 --what-if link=100Gbps\n"
      "  troika simulate runs/digits/plan.json --order-messages --out plan.json");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
