#include "lower/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "lower/device_emitter.h"
#include "lower/message_urgency.h"
#include "lower/names.h"
#include "lower/plan_names.h"
#include "lower/state_entries.h"

namespace troika {
namespace {

/// A task with the fragment and the device that it belongs to.
struct Listed {
  const PlannedTask* task;
  const Fragment* fragment;
  std::int32_t device;

  auto order() const { return std::tuple(task->lag, task->turn, task->id); }
};

class Binder {
 public:
  Binder(Folding& folding, const KernelTable& table)
      : folding_(folding),
        plan_(folding.plan()),
        table_(table),
        graph_(*plan_.request.graph),
        names_(plan_),
        movements_(folding.movements()) {}

  TaskGraph run(const std::vector<std::int32_t>& devices) {
    made_.name = plan_.request.name;
    made_.devices = plan_.request.devices;
    made_.arena.resize(plan_.request.machine->devices.size());
    std::vector<std::vector<Fragment>> fragments;
    for (std::int32_t device : devices) fragments.push_back(emit(device));
    bind_unused_parameters();
    std::vector<Listed> tasks;
    for (std::size_t at = 0; at < devices.size(); ++at)
      for (const Fragment& fragment : fragments[at])
        for (const PlannedTask& task : fragment.tasks)
          tasks.push_back({&task, &fragment, devices[at]});
    std::ranges::sort(tasks, {}, &Listed::order);
    for (const Listed& task : tasks) bind_task(task);
    for (const auto& [device, output] : outputs_) {
      BufferId id = buffer(device, output.buffer);
      made_[id].held = true;
      made_.outputs[output.name] = id;
    }
    return std::move(made_);
  }

 private:
  const Outline& outline() const { return plan_.distribution.outline; }

  std::vector<Fragment> emit(std::int32_t device) {
    DeviceEmitter emitter(plan_, movements_, device);
    for (const BufferRef& parameter : emitter.parameters()) buffer(device, parameter);
    for (const HostBuffer& input : emitter.inputs())
      made_.inputs[input.name] = buffer(device, input.buffer);
    std::vector<Fragment> fragments = emit_all(emitter, plan_);
    if (std::optional<std::string> reason = folding_.why_not_alike(device, fragments))
      throw Bug(*reason);
    for (const HostBuffer& output : emitter.outputs()) outputs_.emplace_back(device, output);
    return fragments;
  }

  /// The buffer, which is made with what it is a view or a copy of if it is new.
  BufferId buffer(std::int32_t device, const BufferRef& ref) {
    if (auto known = buffers_.find({device, ref}); known != buffers_.end()) return known->second;
    PlannedBuffer planned = PlannedDevice(plan_, device).describe(ref);
    BufferSpec made{.spec = planned.spec,
                    .layout = planned.layout,
                    .device = DeviceId(as_index(device)),
                    .category = planned.category,
                    .persistent = planned.persistent,
                    .view_offset = planned.view_offset,
                    .padding = planned.padding};
    if (planned.view_of) made.view_of = buffer(device, *planned.view_of);
    if (ref.is_copy()) made.name = made_[buffer(device, ref.original())].name;
    names_.describe(planned, made);
    BufferId id = add_once(ref, std::move(made));
    buffers_.emplace(std::pair(device, ref), id);
    return id;
  }

  /// Zeros of one shape are one buffer, as their name says.
  BufferId add_once(const BufferRef& ref, BufferSpec made) {
    bool zeros = ref.role >= BufferRole::zero_read && ref.role <= BufferRole::zero_number;
    auto [known, is_new] =
        zeros ? zeros_.try_emplace(made.name, made_.buffers.size()) : std::pair(zeros_.end(), true);
    if (is_new) made_.buffers.push_back(std::move(made));
    return BufferId(zeros ? known->second : made_.buffers.size() - 1);
  }

  /// A parameter that no operator uses lies where another program stores it, or on device 0.
  void bind_unused_parameters() {
    for (std::size_t at = 0; at < graph_.parameters.size(); ++at) {
      if (outline().parameters[at] >= 0) continue;
      const Parameter& parameter = graph_.parameters[at];
      StoredPlaces places = places_of_unused(plan_.request, parameter);
      for (const StoredPlace& place : places)
        if (made_.holds(place.device)) add_unused(parameter, place, places);
    }
  }

  void add_unused(const Parameter& parameter, const StoredPlace& place,
                  const StoredPlaces& places) {
    const Region& region = place.region;
    made_.buffers.push_back(
        {.name = to_string(SliceName{parameter.name, parameter.spec.shape, region,
                                     place.device.value, plan_.has_peers()}),
         .spec = {region.shape(), parameter.spec.dtype},
         .layout = place.layout,
         .device = place.device,
         .category = Category::parameter,
         .persistent = true,
         .part_of = parameter.name,
         .region = region,
         .whole = parameter.spec.shape});
    if (!plan_.request.strategy->sync.sliced_update) return;
    made_.buffers.back().padding =
        size_of(parameter.spec.dtype) *
        slice_padding(region.elements(), std::ranges::count(places, region, &StoredPlace::region));
  }

  void bind_task(const Listed& listed) {
    const PlannedTask& planned = *listed.task;
    Task task{.id = task_id(planned.id),
              .turn = planned.turn,
              .device = DeviceId(as_index(listed.device)),
              .lag = planned.lag};
    for (const PlannedUse& use : listed.fragment->uses_of(planned))
      task.uses.push_back({buffer(listed.device, use.buffer), use.access});
    bind_work(listed, task);
    if (task.computes())
      task.choice.time = time_on((*plan_.request.machine)[task.device], task.choice.time);
    task.name = names_.of(planned, task, made_);
    if (task.choice.scratch.count > 0) task.scratch = add_scratch(task);
    made_.tasks.push_back(std::move(task));
  }

  BufferId add_scratch(const Task& task) {
    made_.buffers.push_back({.name = task.name + " scratch",
                             .spec = {{(task.choice.scratch.count + 7) / 8}, DType::f64},
                             .device = task.device,
                             .category = Category::workspace});
    return BufferId(made_.buffers.size() - 1);
  }

  void bind_work(const Listed& listed, Task& task) {
    const PlannedTask& planned = *listed.task;
    switch (planned.kind) {
      case WorkKind::phase:
        return bind_phase(listed, task);
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
        return bind_movement(listed, task);
      case WorkKind::start:
      case WorkKind::finish:
        return bind_end(planned, task);
    }
  }

  void bind_end(const PlannedTask& planned, Task& task) {
    task.kind = planned.kind == WorkKind::start ? TaskKind::start : TaskKind::finish;
    task.member = planned.member;
    auto [known, is_new] =
        calls_.try_emplace(std::tuple(planned.call, planned.of, planned.micro_batch, planned.index),
                           CommunicationId(made_.communications.size()));
    task.communication = known->second;
    if (is_new) bind_call(planned);
    made_.communications[known->second.index()].buffers[as_index(planned.member)] =
        task.uses[0].buffer;
  }

  void bind_call(const PlannedTask& end) {
    PlannedCall call = describe_call(plan_, end);
    Communication made{
        .id = {static_cast<std::int32_t>(end.call), end.of, end.micro_batch, end.index},
        .name = names_.of_call(end, call.call.kind),
        .call = call.call,
        .dtype = call.dtype,
        .rule = call.rule};
    made.urgency = urgency_of(plan_, end);
    for (std::int32_t device : call.devices) made.devices.push_back(DeviceId(as_index(device)));
    made.buffers.resize(call.devices.size());
    made_.communications.push_back(std::move(made));
  }

  void bind_phase(const Listed& listed, Task& task) {
    const PlannedTask& planned = *listed.task;
    std::vector<std::size_t> jobs;
    for (const ValueUse& use : planned.unit->operands)
      if (jobs.empty() || jobs.back() != as_index(use.job)) jobs.push_back(as_index(use.job));
    std::ranges::sort(jobs);
    auto [first, last] = std::ranges::unique(jobs);
    jobs.erase(first, last);
    task.key = planned.unit->key;
    task.choice = planned.unit->choice;
    TileSetId set = plan_.distribution.jobs[as_index(planned.of)].set;
    PlannedDevice here(plan_, listed.device);
    std::int32_t tile = here.tiles_here(set)[as_index(planned.index)];
    for (std::size_t each : jobs) {
      std::vector<std::int64_t> position = position_of_tile(each, tile, planned.micro_batch);
      task.position.insert(task.position.end(), position.begin(), position.end());
    }
  }

  std::vector<std::int64_t> position_of_tile(std::size_t job, std::int32_t tile,
                                             std::int64_t micro_batch) const {
    auto op = as_index(outline().jobs[job].op);
    Region box = box_of(plan_.unit_request(), job, tile);
    const OperatorTiles& tiles = plan_.distribution.operators[op];
    if (tiles.sample_axis >= 0) {
      Range& samples = box.ranges[as_index(tiles.sample_axis)];
      std::int64_t rows = tiles.extents[as_index(tiles.sample_axis)] * micro_batch;
      samples.begin += rows;
      samples.end += rows;
    }
    return position_of(graph_.operators[op].op, plan_.tables.index.signatures[op], box);
  }

  void bind_movement(const Listed& listed, Task& task) {
    const PlannedTask& planned = *listed.task;
    const Movement& movement = movements_[planned.movement];
    std::span<const std::int64_t> position = listed.fragment->position_of(planned);
    task.position.assign(position.begin(), position.end());
    task.key = movement.key;
    task.is_update = planned.kind == WorkKind::guard || planned.kind == WorkKind::square_sum;
    const DeviceSpec& device = (*plan_.request.machine)[task.device];
    task.choice = choose_kernel(movement, device, table_).value();
  }

  Folding& folding_;
  const ProgramPlan& plan_;
  const KernelTable& table_;
  const Graph& graph_;
  PlanNames names_;
  MovementTable& movements_;
  std::map<std::pair<std::int32_t, BufferRef>, BufferId> buffers_;
  std::map<std::string, std::size_t> zeros_;
  std::map<std::tuple<CallKind, std::int32_t, std::int16_t, std::int32_t>, CommunicationId> calls_;
  std::vector<std::pair<std::int32_t, HostBuffer>> outputs_;
  TaskGraph made_;
};

}  // namespace

TaskGraph bind_devices(Folding& folding, const std::vector<std::int32_t>& devices,
                       const KernelTable& table) {
  return Binder(folding, table).run(devices);
}

}  // namespace troika
