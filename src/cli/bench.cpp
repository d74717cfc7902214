// `troika bench`: how fast a training step is, how fast devices exchange vectors, and how fast the
// simulator is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench_step.h"
#include "cli/checked_option.h"
#include "cli/rank_seat.h"
#include "cli/text_table.h"
#include "cli/verb.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BenchStepArguments {
  BenchRequest request;
  bool memory = false;
  std::size_t tasks = 0;
  bool json = false;
};

/// Share of the last step spent on communication alone, on the device where it is largest.
double exposed_communication(const StepFigures& figures) {
  double most = 0;
  for (const auto& [device, ledger] : figures.ledgers) {
    auto exposed = static_cast<double>((ledger.moving + ledger.waiting).count());
    most = std::max(
        most, exposed / static_cast<double>(std::max<std::int64_t>(1, ledger.total().count())));
  }
  return most;
}

/// Kernels grouped by kind, as predicted and as measured; all devices of this process together.
Json kernels_to_json(const StepFigures& figures) {
  Json groups = Json::array();
  for (const TaskFigures& group : group_tasks(figures.tasks))
    groups.push_back({{"kind", group.kind},
                      {"algorithm", group.algorithm},
                      {"tasks", group.tasks},
                      {"bytes", group.bytes.count},
                      {"flops", group.flops.count},
                      {"predicted_ms", group.predicted_ms},
                      {"measured_ms", group.milliseconds}});
  return groups;
}

/// How each device spent the last step.
Json ledgers_to_json(const StepFigures& figures) {
  Json devices = Json::array();
  auto ms = [](std::chrono::nanoseconds part) { return static_cast<double>(part.count()) / 1e6; };
  for (const auto& [device, ledger] : figures.ledgers)
    devices.push_back({{"compute_ms", ms(ledger.compute)},
                       {"optimizer_ms", ms(ledger.optimizer)},
                       {"moving_ms", ms(ledger.moving)},
                       {"waiting_ms", ms(ledger.waiting)},
                       {"other_ms", ms(ledger.other)}});
  return devices;
}

Json to_json_value(const StepFigures& figures) {
  return {{"model", figures.model},
          {"batch", figures.batch},
          {"threads", figures.threads},
          {"devices", figures.devices},
          {"step_ms", figures.step_ms},
          {"samples_per_second", figures.samples_per_second},
          {"items_per_second", figures.items_per_second},
          {"gflops", figures.gflops},
          {"peak_bytes", figures.peak.count},
          {"predicted_ms", figures.predicted_ms},
          {"repeats", figures.repeats},
          {"limit_ms", figures.limit_ms},
          {"matmul_gflops", figures.limits.flops_per_second / 1e9},
          {"copy_gbps", figures.limits.bytes_per_second / 1e9},
          {"exposed_communication", exposed_communication(figures)},
          {"ledgers", ledgers_to_json(figures)},
          {"tasks", kernels_to_json(figures)}};
}

std::string spread(const StepFigures& figures) {
  auto [least, most] = std::ranges::minmax(figures.repeats);
  return fmt::format("{:.2f} ms (from {:.2f} to {:.2f} over {} repeats)", figures.step_ms, least,
                     most, figures.repeats.size());
}

/// How close the step is to the limit of the machine.
std::string limit_text(const StepFigures& figures) {
  return fmt::format(
      "{:.2f} ms at {:.0f} GFLOP/s of matmul and {:.0f} GB/s of memory; the step reaches {} of "
      "that speed",
      figures.limit_ms, figures.limits.flops_per_second / 1e9,
      figures.limits.bytes_per_second / 1e9, percent(figures.limit_ms / figures.step_ms));
}

/// The cost of different layouts in neighbouring operators.
std::string reorder_text(const StepFigures& figures) {
  int count = 0;
  double milliseconds = 0;
  for (const TaskFigures& task : figures.tasks) {
    if (!task.kind.starts_with("reorder ")) continue;
    ++count;
    milliseconds += task.milliseconds;
  }
  return fmt::format("{} per step, {:.2f} ms ({})", count, milliseconds,
                     percent(milliseconds / figures.step_ms));
}

void print_summary(const StepFigures& figures, Console& console) {
  std::string devices = figures.devices == 1 ? "" : fmt::format("{} x ", figures.devices);
  console.write(format_facts({{"model", fmt::format("{}, batch {}", figures.model, figures.batch)},
                              {"device", devices + figures.device},
                              {"step", spread(figures)},
                              {"predicted step", fmt::format("{:.2f} ms", figures.predicted_ms)},
                              {"samples/s", fmt::format("{:.2f}", figures.samples_per_second)},
                              {"items/s", fmt::format("{:.2f}", figures.items_per_second)},
                              {"GFLOP/s", fmt::format("{:.1f}", figures.gflops)},
                              {"peak memory", to_string(figures.peak)},
                              {"reorders", reorder_text(figures)},
                              {"limit", limit_text(figures)}}));
}

/// How each device spent the time of the step.
void print_ledgers(const StepFigures& figures, Console& console) {
  std::vector<std::vector<std::string>> rows{
      {"device", "compute", "optimizer", "moving", "waiting for peers", "other"}};
  for (const auto& [device, ledger] : figures.ledgers) {
    auto share = [&, total = static_cast<double>(ledger.total().count())](auto part) {
      return percent(static_cast<double>(part.count()) / total);
    };
    rows.push_back({std::to_string(device.value), share(ledger.compute), share(ledger.optimizer),
                    share(ledger.moving), share(ledger.waiting), share(ledger.other)});
  }
  console.write("\n" + format_rows(rows));
}

/// By what limits the kernel: arithmetic if there is much of it per byte, memory otherwise.
std::string speed(const TaskFigures& task) {
  constexpr double kFlopsPerByte = 4;
  if (task.milliseconds <= 0) return "";
  auto flops = static_cast<double>(task.flops.count), bytes = static_cast<double>(task.bytes.count);
  return flops > kFlopsPerByte * bytes
             ? fmt::format("{:.1f} GFLOP/s", flops / 1e6 / task.milliseconds)
             : fmt::format("{:.1f} GB/s", bytes / 1e6 / task.milliseconds);
}

void print_tasks(const std::vector<TaskFigures>& tasks, std::size_t most, double step_ms,
                 Console& console) {
  std::vector<std::vector<std::string>> rows{
      {"operator and phase", "tasks", "ms", "share", "speed", "of limit", "algorithm", "layouts"}};
  for (const TaskFigures& task : tasks) {
    if (rows.size() > most) break;
    rows.push_back({task.name, std::to_string(task.tasks), fmt::format("{:.3f}", task.milliseconds),
                    percent(task.milliseconds / step_ms), speed(task),
                    task.milliseconds > 0 ? percent(task.limit_ms / task.milliseconds) : "",
                    task.algorithm, task.layouts});
  }
  console.write("\n" + format_rows(rows));
}

/// For the longest tasks, the kernels to choose from.
void print_reasons(const std::vector<TaskFigures>& longest_first, std::size_t most,
                   Console& console) {
  for (std::size_t at = 0; at < std::min(most, longest_first.size()); ++at) {
    const TaskFigures& task = longest_first[at];
    console.write(fmt::format("\n  {}: {}{}{}, {:.3f} ms\n", task.name, task.algorithm,
                              task.layouts.empty() ? "" : " ", task.layouts, task.milliseconds));
    for (const std::string& line : task.why) console.write("    " + line + "\n");
  }
}

void print_memory(const MemoryTable& memory, Console& console) {
  std::vector<Fact> facts{{"predicted memory", to_string(memory.total())}};
  for (const auto& [category, bytes] : memory.categories)
    facts.push_back({std::string(to_string(category)), to_string(bytes)});
  facts.push_back({"peak at", memory.peak_task});
  console.write("\n" + format_facts(facts));
}

void print_figures(const BenchStepArguments& arguments, StepFigures figures, Context& context) {
  if (arguments.json) return context.console.print(to_json_value(figures).dump());
  print_summary(figures, context.console);
  if (figures.devices > 1) print_ledgers(figures, context.console);
  print_tasks(group_tasks(figures.tasks), figures.tasks.size(), figures.step_ms, context.console);
  std::ranges::stable_sort(figures.tasks, std::greater{}, &TaskFigures::milliseconds);
  if (arguments.tasks > 0)
    print_tasks(figures.tasks, arguments.tasks, figures.step_ms, context.console);
  print_reasons(figures.tasks, arguments.request.why, context.console);
  if (arguments.memory) print_memory(figures.memory, context.console);
}

/// Under mpirun each rank has one device unless more are asked for.
void run(const BenchStepArguments& arguments, Context& context) {
  run_in_seat(context, {}, [&](const RankSeat& seat) {
    BenchRequest request = arguments.request;
    request.devices = std::max(request.devices, seat.ranks->count());
    print_figures(arguments, or_give_up(seat, [&] { return measure_step(request, *seat.ranks); }),
                  context);
  });
}

}  // namespace

Verb add_bench(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<BenchStepArguments>();  // shared by the parser and the verb
  CLI::App* app =
      parent.add_subcommand("bench", "Time training steps, collectives or the simulator");
  app->require_subcommand(1);
  app->footer("Example:\n  troika bench step --model mlp --batch 256 --threads 2");
  CLI::App* step =
      app->add_subcommand("step", "Time a training step on random data, operator by operator");
  BenchRequest& request = arguments->request;
  step->add_option("--model", request.model, "A model (see troika models), or gpt2-small")
      ->required();
  take_whole(step->add_option("--batch", request.batch,
                              "Global batch; default: the model's benchmark batch"));
  take_whole(step->add_option("--threads", request.threads,
                              "Threads per device; default: the cores divided by the devices"));
  take_whole(step->add_option("--repeats", request.repeats, "Timed steps"))->capture_default_str();
  step->add_option("--backend", request.backend,
                   "cpu or reference; default: cpu if the build has it");
  take_whole(step->add_option("-n", request.devices, "Number of devices"));
  step->add_option("--plan", request.plan,
                   "A plan name or a plan file; default on several devices: data");
  step->add_flag("--no-overlap", request.without_overlap,
                 "Do not overlap communication with computation");
  step->add_flag("--order-messages", request.orders_messages,
                 "Order messages by their slack first, as 'troika simulate' does");
  step->add_flag("--no-priorities", request.without_priorities,
                 "Send messages in order instead of urgent ones first");
  take_whole(step->add_option("--shards", request.shards,
                              "Parts of the batch over which batch norm computes its statistics"));
  take_whole(
      step->add_option("--tasks", arguments->tasks, "Also show this many of the longest tasks"),
      {.least = 0});
  take_whole(step->add_option("--why", request.why,
                              "Also show the candidate kernels of this many of the longest tasks"),
             {.least = 0});
  step->add_flag("--memory", arguments->memory, "Also show the predicted memory by category");
  step->add_flag("--json", arguments->json, "Print JSON");
  step->footer("Example:\n  troika bench step --model resnet50 --batch 8 --threads 2 --tasks 10");
  std::vector<Verb> others{add_bench_comm(*app, context), add_bench_sim(*app, context)};
  return {app, [=, &context] {
            for (const Verb& other : others)
              if (other.app->parsed()) return other.run();
            run(*arguments, context);
          }};
}

}  // namespace troika::cli
