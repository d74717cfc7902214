#include "cli/bench_step.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "cli/planned_programs.h"
#include "cli/random_inputs.h"
#include "cli/text_table.h"
#include "profile/rates.h"
#include "setup/choose_strategy.h"
#include "setup/live_model.h"
#include "setup/predicted_step.h"
#include "train/feeds.h"

namespace troika::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The first steps touch their memory for the first time.
constexpr int kWarmUps = 2;
constexpr std::uint64_t kSeed = 1;

/// Two-dimensional targets mean a language model, whose items are tokens.
std::int64_t items_of(const Graph& graph) {
  TensorId target = find_tensor(graph, "target");
  if (!target.valid()) return 1;
  const Shape& shape = graph[target].spec.shape;
  return shape.rank() == 2 && graph[target].spec.dtype == DType::i32 ? shape[1] : 1;
}

/// An input that is ready before the step, as a run reads it ahead on another thread.
struct PreparedInput {
  std::string program, name;
  std::vector<std::byte> batch;
};

std::vector<PreparedInput> prepare_inputs(const zoo::NamedGraph& named) {
  std::vector<PreparedInput> made;
  for (TensorId input : named.graph.inputs)
    made.push_back({named.name, named.graph[input].name, random_input(named.graph, input)});
  for (const zoo::Feed& feed : named.feeds) {
    const TensorSpec& spec = named.graph[find_tensor(named.graph, feed.input)].spec;
    std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes().count));
    fill_feed(feed, spec, {kSeed, 0}, bytes);
    made.push_back({named.name, feed.input, std::move(bytes)});
  }
  return made;
}

std::string layouts_of(const std::vector<Layout>& layouts) {
  std::vector<std::string_view> seen;
  for (Layout layout : layouts)
    if (std::ranges::find(seen, to_string(layout)) == seen.end()) seen.push_back(to_string(layout));
  return fmt::format("{}", fmt::join(seen, "/"));
}

/// Every candidate with its measured time, then those that failed their check or declined.
std::vector<std::string> reasons(const LiveModel& live, const KernelKey& key) {
  std::vector<std::string> lines;
  const std::string kind = live.setup().device().kind();
  if (const std::vector<Candidate>* candidates = live.kernels().find(kind, key)) {
    for (const Candidate& candidate : *candidates)
      lines.push_back(fmt::format("{} {}: {}", candidate.algorithm, layouts_of(candidate.layouts),
                                  candidate.time ? to_string(*candidate.time) : "not measured"));
  }
  if (const auto& costs = live.setup().costs) {
    for (const LeftOutKernel& kernel : costs->left_out(key))
      lines.push_back(fmt::format("{} rejected: {}", kernel.kernel, kernel.reason));
  }
  for (const DeclinedAlgorithm& algorithm : live.setup().backend->declined(key))
    lines.push_back(fmt::format("{} declined: {}", algorithm.name, algorithm.reason));
  return lines;
}

/// The best of several short runs, before and after the steps.
DeviceSpec measure_limits(const RuntimeSetup& setup, const DeviceSpec& before) {
  DeviceSpec now = measure_rates(setup.machine.devices.front(), setup.device(), *setup.backend);
  now.flops_per_second = std::max(now.flops_per_second, before.flops_per_second);
  now.bytes_per_second = std::max(now.bytes_per_second, before.bytes_per_second);
  return now;
}

void hold_against(const DeviceSpec& limits, StepFigures& figures) {
  figures.limits = limits;
  for (TaskFigures& task : figures.tasks) {
    task.limit_ms = static_cast<double>(roofline_time(limits, task.flops, task.bytes).count) / 1e6;
    figures.limit_ms += task.limit_ms;
  }
}

/// Writes the inputs before every step, because activations reuse their memory.
class Stepper {
 public:
  Stepper(LiveModel& live, const zoo::Model& model, const RunConfig& config)
      : live_(live), model_(model) {
    Session& session = live_.session();
    session.write_scalar(Scalar::learning_rate, config.optimizer.learning_rate);
    session.write_scalar(Scalar::key_low, kSeed);
    for (const zoo::NamedGraph& named : model.graphs) {
      times_.emplace_back(session.program(named.name).tasks.size());
      inputs_.push_back(prepare_inputs(named));
    }
  }

  double step(bool counts) {
    Session& session = live_.session();
    session.write_scalar(Scalar::update_step, ++steps_);
    double milliseconds = 0;
    for (std::size_t at = 0; at < model_.graphs.size(); ++at) {
      const zoo::NamedGraph& named = model_.graphs[at];
      auto start = Clock::now();
      for (const PreparedInput& input : inputs_[at])
        session.write_input(input.program, input.name, input.batch);
      live_.run(named.name);
      milliseconds += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      if (session.read_control(Control::ok) == 0)
        throw Error(ErrorKind::numeric, "the loss of the benchmark is not finite");
      if (counts) record(at, session.timeline(named.name));
    }
    return milliseconds;
  }

  std::vector<TaskFigures> tasks(bool with_reasons) const {
    std::vector<TaskFigures> list;
    for (std::size_t graph = 0; graph < model_.graphs.size(); ++graph) {
      const TaskGraph& program = live_.session().program(model_.graphs[graph].name);
      for (std::size_t at = 0; at < program.tasks.size(); ++at) {
        const Task& task = program.tasks[at];
        if (!task.computes()) {
          list.push_back(message_figures(program, task, median(times_[graph][at])));
          continue;
        }
        list.push_back(
            {.name = task.name,
             .kind = fmt::format("{} {}", name_of(task.key.op), to_string(task.key.phase)),
             .algorithm = task.choice.algorithm,
             .layouts = layouts_of(task.choice.layouts),
             .tasks = 1,
             .milliseconds = median(times_[graph][at]),
             .predicted_ms = static_cast<double>(task.choice.time.count) / 1e6,
             .flops = flops_of(task.key),
             .bytes = bytes_of(task.key),
             .why = with_reasons ? reasons(live_, task.key) : std::vector<std::string>{}});
      }
    }
    return list;
  }

 private:
  static TaskFigures message_figures(const TaskGraph& program, const Task& task,
                                     double milliseconds) {
    const Communication& communication = program[task.communication];
    bool starts = task.kind == TaskKind::start;
    return {.name = task.name,
            .kind = fmt::format("{}{}", to_string(communication.call.kind), starts ? " start" : ""),
            .algorithm = communication.algorithm,
            .tasks = 1,
            .milliseconds = milliseconds,
            .bytes = starts ? Bytes{} : communication.bytes()};
  }

  void record(std::size_t graph, const Timeline& timeline) {
    // Spans are in the order of the tasks, which are those of this process's devices.
    for (std::size_t at = 0; at < timeline.spans.size(); ++at) {
      const Span& span = timeline.spans[at];
      times_[graph][at].push_back(static_cast<double>((span.end - span.start).count) / 1e6);
    }
  }

  LiveModel& live_;
  const zoo::Model& model_;
  std::vector<std::vector<PreparedInput>> inputs_;       // by graph
  std::vector<std::vector<std::vector<double>>> times_;  // by graph and task, one per repeat
  int steps_ = 0;
};

Bytes peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  // Linux reports KiB.
  return {usage.ru_maxrss * 1024};
}

Flops flops_of_model(const zoo::Model& model) {
  Flops flops{};
  for (const zoo::NamedGraph& named : model.graphs) flops += step_flops(named.graph);
  return flops;
}

/// The plan of the request on the devices of `setup`.
Strategy strategy_for(const BenchRequest& request, const BenchCase& made, const zoo::Model& model,
                      RuntimeSetup& setup) {
  Strategy strategy = choose_strategy({made.config, model, setup.machine, setup.links});
  if (request.without_overlap) strategy.sync.overlap = false;
  if (request.without_priorities) strategy.sync.priorities = false;
  if (!request.orders_messages) return strategy;
  if (!setup.is_measured)
    throw Error(ErrorKind::usage,
                "--order-messages needs measured kernels; leave out --backend reference");
  // Collective: ranks agree on the times of kernels, and so find the same order.
  KernelTable table;
  auto answer = [&](const std::vector<KernelRequest>& rows) { return setup.answer(rows); };
  strategy.sync =
      order_messages_of({strategy, made.config, model}, {setup.machine, setup.links, answer, table})
          .sync;
  return strategy;
}

/// Rates follow from the median of the repeats.
void add_rates(const zoo::Model& model, StepFigures& figures) {
  figures.step_ms = median(figures.repeats);
  figures.samples_per_second = static_cast<double>(figures.batch) * 1e3 / figures.step_ms;
  figures.items_per_second =
      figures.samples_per_second * static_cast<double>(items_of(model.train()));
  figures.gflops = static_cast<double>(flops_of_model(model).count) / 1e6 / figures.step_ms;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<TaskFigures> group_tasks(const std::vector<TaskFigures>& tasks) {
  std::map<std::string, TaskFigures> groups;
  for (const TaskFigures& task : tasks) {
    TaskFigures& group = groups[task.kind + " " + task.algorithm + " " + task.layouts];
    group.name = group.kind = task.kind;
    group.algorithm = task.algorithm;
    group.layouts = task.layouts;
    group.limit_ms += task.limit_ms;
    group.tasks += task.tasks;
    group.milliseconds += task.milliseconds;
    group.predicted_ms += task.predicted_ms;
    group.flops += task.flops;
    group.bytes += task.bytes;
  }
  std::vector<TaskFigures> sorted;
  for (auto& [key, group] : groups) sorted.push_back(group);
  std::ranges::sort(sorted, std::greater{}, &TaskFigures::milliseconds);
  return sorted;
}

StepFigures measure_step(const BenchRequest& request, Ranks& ranks) {
  BenchCase made = make_bench_case(request);
  zoo::Model model = build_model(made.config.model, made.samples);
  RuntimeSetup setup = set_up_runtime(made.config.kernels, made.config.parallel, {}, ranks);
  // Measured before the model occupies memory.
  DeviceSpec none{.flops_per_second = 0, .bytes_per_second = 0};
  DeviceSpec limits = measure_limits(setup, none);
  Strategy strategy = strategy_for(request, made, model, setup);
  LiveModel live(std::move(setup));
  live.add_training(model, made.config, strategy);
  live.start();
  live.initialize(kSeed);

  Stepper stepper(live, model, made.config);
  for (int count = 0; count < kWarmUps; ++count) stepper.step(false);
  StepFigures figures{.model = request.model,
                      .device = live.setup().device().kind(),
                      .batch = made.samples.batch,
                      .threads = live.setup().device().threads(),
                      .devices = request.devices};
  for (int count = 0; count < request.repeats; ++count)
    figures.repeats.push_back(stepper.step(true));

  figures.ledgers = live.session().ledgers(model.graphs.front().name);
  add_rates(model, figures);
  // Only the first rank shows it, and it takes the programs of all devices.
  if (ranks.is_first()) figures.predicted_ms = milliseconds(predict_step(live, model).time);
  figures.peak = peak_memory();  // before the limits are measured again
  figures.memory = memory_of(live.session().program(model.graphs.front().name),
                             live.setup().local().devices.begin()->first);
  figures.tasks = stepper.tasks(request.why > 0);
  hold_against(measure_limits(live.setup(), limits), figures);
  return figures;
}

}  // namespace troika::cli
