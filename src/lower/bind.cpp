#include "lower/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "lower/layout_model.h"
#include "lower/names.h"
#include "lower/plan_names.h"

namespace troika {
namespace {

class Binder {
 public:
  Binder(const ProgramPlan& plan, const PlannedTasks& tasks, const KernelTable& table)
      : plan_(plan), planned_(tasks), table_(table), graph_(*plan.request.graph), names_(plan) {}

  Bound run() {
    made_.graph.name = plan_.request.name;
    made_.graph.arena.resize(plan_.request.machine->devices.size());
    for (const PlannedBuffer& buffer : planned_.buffers) bind_buffer(buffer);
    bind_unused_parameters();
    bind_calls();
    std::vector<std::size_t> order(planned_.tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t at) {
      const PlannedTask& task = planned_.tasks[at];
      return std::tuple(task.lag, task.turn, task.id);
    });
    for (std::size_t at : order) bind_task(planned_.tasks[at]);
    for (const auto& [name, buffer] : planned_.inputs) made_.graph.inputs[name] = id_of(buffer);
    for (const auto& [name, buffer] : planned_.outputs) made_.graph.outputs[name] = id_of(buffer);
    return std::move(made_);
  }

 private:
  static BufferId id_of(std::int32_t buffer) { return BufferId(as_index(buffer)); }
  const Outline& outline() const { return plan_.distribution.outline; }
  void bind_buffer(const PlannedBuffer& planned) {
    BufferSpec made{.name = {},
                    .spec = planned.spec,
                    .layout = planned.layout,
                    .device = DeviceId(as_index(planned.device)),
                    .category = planned.category,
                    .persistent = planned.persistent,
                    .held = planned.held,
                    .view_of = planned.view_of < 0 ? BufferId{} : id_of(planned.view_of),
                    .view_offset = planned.view_offset};
    made.padding = planned.padding;
    names_.describe(planned, made_.graph, made);
    made_.graph.buffers.push_back(std::move(made));
  }

  /// A parameter that no operator uses lies where another program stores it, or on device 0.
  void bind_unused_parameters() {
    for (std::size_t at = 0; at < graph_.parameters.size(); ++at) {
      if (outline().parameters[at] >= 0) continue;
      const Parameter& parameter = graph_.parameters[at];
      bool stored = false;
      for (const StoredSlice& slice : plan_.request.storage) {
        if (slice.of != parameter.name) continue;
        stored = true;
        add_unused(parameter, slice.region, slice.device, slice.layout);
      }
      if (!stored)
        add_unused(parameter, Region::whole(parameter.spec.shape), DeviceId(std::size_t{0}),
                   Layout::plain);
    }
  }

  void add_unused(const Parameter& parameter, const Region& region, DeviceId device,
                  Layout layout) {
    made_.graph.buffers.push_back(
        {.name = to_string(SliceName{parameter.name, parameter.spec.shape, region, device.value,
                                     plan_.has_peers()}),
         .spec = {region.shape(), parameter.spec.dtype},
         .layout = layout,
         .device = device,
         .category = Category::parameter,
         .persistent = true,
         .part_of = parameter.name,
         .region = region,
         .whole = parameter.spec.shape});
    if (!plan_.request.strategy->sync.sliced_update) return;
    auto holds = [&](const StoredSlice& slice) {
      return slice.of == parameter.name && slice.region == region;
    };
    made_.graph.buffers.back().padding =
        size_of(parameter.spec.dtype) *
        slice_padding(region.elements(), std::ranges::count_if(plan_.request.storage, holds));
  }

  void bind_calls() {
    for (const PlannedCall& call : planned_.calls) {
      Communication made{
          .name = names_.of(call), .call = call.call, .dtype = call.dtype, .rule = call.rule};
      if (plan_.request.strategy->sync.priorities) made.urgency = urgency_of(call.lag, call.finish);
      for (std::int32_t device : call.devices) made.devices.push_back(DeviceId(as_index(device)));
      for (std::int32_t buffer : call.buffers)
        made.buffers.push_back(buffer < 0 ? BufferId{} : id_of(buffer));
      made_.graph.communications.push_back(std::move(made));
    }
  }

  void bind_task(const PlannedTask& planned) {
    Task task{.id = {static_cast<std::int32_t>(planned.id.bits >> 32),
                     static_cast<std::int32_t>(planned.id.bits)},
              .name = names_.of(planned, made_.graph),
              .device = DeviceId(as_index(planned.device)),
              .lag = planned.lag};
    for (const PlannedUse& use : planned.uses) task.uses.push_back({id_of(use.buffer), use.access});
    if (planned.scratch >= 0) task.scratch = id_of(planned.scratch);
    bind_work(planned, task);
    if (planned.scratch >= 0) made_.graph[task.scratch].name = task.name + " scratch";
    made_.graph.tasks.push_back(std::move(task));
  }

  void bind_work(const PlannedTask& planned, Task& task) {
    switch (planned.kind) {
      case WorkKind::phase:
        return bind_phase(planned, task);
      case WorkKind::update:
        task.key = planned.unit->key;
        task.choice = planned.unit->choice;
        task.is_update = true;
        return;
      case WorkKind::sum:
      case WorkKind::assemble:
      case WorkKind::reorder:
      case WorkKind::square_sum:
      case WorkKind::guard:
        return bind_movement(planned, task);
      case WorkKind::start:
      case WorkKind::finish:
        task.kind = planned.kind == WorkKind::start ? TaskKind::start : TaskKind::finish;
        task.communication = CommunicationId(as_index(planned.call));
        task.member = planned.member;
        return;
    }
  }

  void bind_phase(const PlannedTask& planned, Task& task) {
    std::vector<std::size_t> jobs;
    for (const ValueUse& use : planned.unit->operands)
      if (jobs.empty() || jobs.back() != as_index(use.job)) jobs.push_back(as_index(use.job));
    std::ranges::sort(jobs);
    auto [first, last] = std::ranges::unique(jobs);
    jobs.erase(first, last);
    task.key = planned.unit->key;
    task.choice = planned.unit->choice;
    for (std::size_t each : jobs) {
      std::vector<std::int64_t> position = position_of_tile(each, planned);
      task.position.insert(task.position.end(), position.begin(), position.end());
    }
  }

  std::vector<std::int64_t> position_of_tile(std::size_t job, const PlannedTask& planned) const {
    auto op = as_index(outline().jobs[job].op);
    Region box = box_of(plan_.unit_request(), job, planned.index);
    const OperatorTiles& tiles = plan_.distribution.operators[op];
    if (tiles.sample_axis >= 0) {
      Range& samples = box.ranges[as_index(tiles.sample_axis)];
      std::int64_t rows = tiles.extents[as_index(tiles.sample_axis)] * planned.micro_batch;
      samples.begin += rows;
      samples.end += rows;
    }
    return position_of(graph_.operators[op].op, plan_.tables.index.signatures[op], box);
  }

  /// Sums, copies, norms: the quickest kernel that takes the operands as they lie.
  void bind_movement(const PlannedTask& planned, Task& task) {
    task.key = planned_.keys[as_index(planned.key)];
    auto position = planned_.positions.begin() + planned.first_position;
    task.position.assign(position, position + planned.position_count);
    task.is_update = planned.kind == WorkKind::guard || planned.kind == WorkKind::square_sum;
    const std::string& kind = (*plan_.request.machine)[task.device].kind;
    const std::vector<Candidate>* row = table_.find(kind, task.key);
    std::vector<Layout> layouts;
    for (const BufferUse& use : task.uses) layouts.push_back(made_.graph[use.buffer].layout);
    if (row == nullptr) {
      made_.missing.push_back({kind, task.key});
      task.choice = {"missing", layouts, {}, {}};
      return;
    }
    const Candidate* best = nullptr;
    for (const Candidate& candidate : *row)
      if ((candidate.flat || candidate.layouts == layouts) &&
          (best == nullptr || (candidate.time && best->time && *candidate.time < *best->time)))
        best = &candidate;
    if (best == nullptr)
      throw Error(ErrorKind::usage,
                  fmt::format("no kernel for task '{}': {}", task.name, to_text(task.key)));
    SimTime by_rule = roofline_time((*plan_.request.machine)[task.device], flops_of(task.key),
                                    bytes_of(task.key));
    task.choice = {best->algorithm, layouts, best->scratch, best->time.value_or(by_rule)};
    if (best->scratch.count > 0) {
      task.scratch = BufferId(made_.graph.buffers.size());
      made_.graph.buffers.push_back({.name = task.name + " scratch",
                                     .spec = {{(best->scratch.count + 7) / 8}, DType::f64},
                                     .device = task.device,
                                     .category = Category::workspace});
    }
  }

  const ProgramPlan& plan_;
  const PlannedTasks& planned_;
  const KernelTable& table_;
  const Graph& graph_;
  PlanNames names_;
  Bound made_;
};

}  // namespace

Bound bind(const ProgramPlan& plan, const PlannedTasks& tasks, const KernelTable& table) {
  return Binder(plan, tasks, table).run();
}

}  // namespace troika
