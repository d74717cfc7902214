// The time to plan a model, from scratch, for any number of devices: to validate, decide and fold,
// until it is ready to be simulated; and the time to bind one rank of many. Processor time; the
// table of kernels is given.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>

#include "lower/planner.h"
#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/testing/tensor_in_nodes.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

constexpr std::int64_t kInside = 8;  // devices of a node

enum class Kind { data, tensor, view, placement };
/// With dropout, clipping, sliced update and a batch that the devices do not divide.
enum class Form { plain, uneven };

Strategy strategy_for(Kind kind, const Graph& graph, const Machine& machine, std::uint64_t seed) {
  switch (kind) {
    case Kind::data:
      return data_parallel(graph, machine);
    case Kind::tensor:
      return tensor_in_nodes(graph, machine, kInside);
    case Kind::view:
      return random_view_strategy(graph, machine, seed);
    case Kind::placement:
      return random_strategy(graph, machine, seed);
  }
  throw Bug("a strategy of no kind");
}

/// Full-sized, with made-up kernel times, on nodes of eight devices.
struct PlannedModel : Lowered {
  PlannedModel(const std::string& name, std::int64_t devices, Kind kind, Form form) {
    zoo::ModelRequest asked{.name = name};
    asked.samples.batch = form == Form::plain ? devices : devices + devices / 2 + 1;
    graph = zoo::build(asked).train();
    machine = make_machine(
        {.nodes = {{.count = devices / kInside, .devices = kInside, .ranks = kInside}}});
    strategy = strategy_for(kind, graph, machine, 1);
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      if (parameter.trained && !parameter.state)
        optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    if (form == Form::uneven) {
      optimizer.clip_norm = 1;
      strategy.sync.sliced_update = true;
    }
    asked_ = request();
    asked_.outputs.clear();
    Planner planner(asked_, table);
    while (std::optional<PlanRefusal> refusal = planner.plan()) {
      if (const auto* infeasible = std::get_if<Infeasible>(&*refusal))
        throw Error(ErrorKind::usage, infeasible->reason);
      table = kernels.answer(std::get<MissingRows>(*refusal).rows, table);
    }
  }

  LowerRequest asked_;
  KernelTable table;
};

/// Forgets the peak so far, which is that of looking for missing rows.
void reset_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == "VmHWM:" && status >> kilobytes) return kilobytes / 1e3;
  return 0;
}

void plan_model(benchmark::State& state, const std::string& name, Kind kind, Form form) {
  PlannedModel model(name, state.range(0), kind, form);
  std::size_t tasks = 0, calls = 0;
  reset_peak();
  for (auto iteration : state) {
    Planner planner(model.asked_, model.table);
    if (planner.plan()) state.SkipWithError("not planned");
    state.PauseTiming();
    tasks = calls = 0;
    for (const std::vector<FoldedTask>& list : planner.graph().tasks) {
      tasks += list.size();
      calls +=
          static_cast<std::size_t>(std::ranges::count(list, TaskKind::finish, &FoldedTask::kind));
    }
    state.counters["classes"] = planner.graph().classes.count();
    state.ResumeTiming();
  }
  state.counters["tasks"] = static_cast<double>(tasks);
  state.counters["messages"] = static_cast<double>(calls);
  state.counters["peak_MB"] = peak_megabytes();
}

/// The part of one rank, which has the device in the middle.
void bind_rank(benchmark::State& state, const std::string& name, Form form) {
  PlannedModel model(name, state.range(0), Kind::data, form);
  model.asked_.devices = {DeviceId(model.machine.devices.size() / 2)};
  reset_peak();
  for (auto iteration : state) {
    LowerResult result = lower(model.asked_, model.table);
    state.counters["tasks"] = static_cast<double>(std::get<TaskGraph>(result).tasks.size());
  }
  state.counters["peak_MB"] = peak_megabytes();
}

void register_all() {
  for (const char* name : {"vgg16", "inception_v3", "nmt", "gpt2"}) {
    auto add = [&](const char* what, Kind kind, Form form, std::vector<std::int64_t> devices) {
      auto* made = benchmark::RegisterBenchmark(
          (std::string(name) + "/" + what).c_str(),
          [=](benchmark::State& state) { plan_model(state, name, kind, form); });
      for (std::int64_t count : devices) made->Arg(count);
      made->Unit(benchmark::kMillisecond);
    };
    add("data", Kind::data, Form::plain, {8, 64, 512, 9216});
    add("tensor", Kind::tensor, Form::plain, {8, 64, 512, 9216});
    add("data_uneven", Kind::data, Form::uneven, {8, 64, 512, 9216});
    add("tensor_uneven", Kind::tensor, Form::uneven, {8, 64, 512, 9216});
    add("view", Kind::view, Form::plain, {8, 64});
    add("placement", Kind::placement, Form::plain, {8, 64});
  }
  for (Form form : {Form::plain, Form::uneven}) {
    auto* made = benchmark::RegisterBenchmark(
        form == Form::plain ? "gpt2/rank" : "gpt2/rank_uneven",
        [=](benchmark::State& state) { bind_rank(state, "gpt2", form); });
    made->Arg(8)->Arg(64)->Arg(512)->Iterations(1)->Unit(benchmark::kMillisecond);
  }
}

const bool kRegistered = (register_all(), true);

}  // namespace
}  // namespace troika
