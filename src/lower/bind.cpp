#include "lower/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "lower/layout_model.h"
#include "lower/names.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

class Binder {
 public:
  Binder(const ProgramPlan& plan, const PlannedTasks& tasks, const KernelTable& table)
      : plan_(plan), planned_(tasks), table_(table), graph_(*plan.request.graph) {}

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
  std::string at_device(const std::string& name, std::int32_t device) const {
    return plan_.has_peers() ? fmt::format("{}@{}", name, device) : name;
  }

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
    made.name = name_of(planned, made);
    made_.graph.buffers.push_back(std::move(made));
  }

  std::string name_of(const PlannedBuffer& planned, BufferSpec& made) {
    switch (planned.role) {
      case BufferRole::value:
        return name_of_value(planned, made);
      case BufferRole::state:
        return name_of_state(planned, made);
      case BufferRole::slice:
        return parameter_of(planned.of).name + (planned.index == 0 ? " own" : " gradient own");
      case BufferRole::scalars:
        return at_device(scalars_name(planned.index), planned.device);
      case BufferRole::control:
        return at_device(kControlName, planned.device);
      case BufferRole::requests:
        return at_device("step.requests", planned.device);
      case BufferRole::zeros:
        return at_device("zeros " + to_string(planned.spec), planned.device);
      case BufferRole::number:
        return at_device("number", planned.device);
      case BufferRole::totals:
        return fmt::format("{} totals{}@{}", name_of_sum(planned.of),
                           planned.index < 0 ? "" : fmt::format("[{}]", planned.index),
                           planned.device);
      case BufferRole::bucket:
        return fmt::format("bucket of {} gradients@{}",
                           plan_.buckets[as_index(planned.of)].parts.size(), planned.device);
      case BufferRole::copy:
        return fmt::format("{} as {}", made_.graph.buffers[as_index(planned.index)].name,
                           to_string(planned.layout));
      case BufferRole::scratch:
        return "scratch";
    }
    throw Bug("a buffer without a role");
  }

  const Parameter& parameter_of(std::int32_t update) const {
    return graph_.parameters[as_index(plan_.updates[as_index(update)].parameter)];
  }

  std::string base_name(const OutlinedValue& value) const {
    switch (value.kind) {
      case ValueKind::tensor:
        return graph_.tensors[as_index(value.of)].name;
      case ValueKind::gradient:
        return "d " + graph_.tensors[as_index(value.of)].name;
      case ValueKind::parameter:
        return graph_.parameters[as_index(value.of)].name;
      case ValueKind::parameter_gradient:
        return "d " + graph_.parameters[as_index(value.of)].name;
      case ValueKind::norms:
        return "square_sums " + graph_.parameters[as_index(value.of)].name;
      case ValueKind::kept:
      case ValueKind::unused: {
        const Operator& op = graph_.operators[as_index(value.of)];
        const Signature& s = plan_.tables.index.signatures[as_index(value.of)];
        return fmt::format("{}{}.{}", value.kind == ValueKind::unused ? "d " : "", op.name,
                           s.slots[as_index(value.slot)].name);
      }
    }
    throw Bug("a value of no kind");
  }

  /// Also fills in what the buffer holds of the model.
  std::string name_of_value(const PlannedBuffer& planned, BufferSpec& made) {
    auto at = as_index(planned.of);
    const OutlinedValue& value = outline().values[at];
    const DistributedValue& own = plan_.distribution.values[at];
    std::string base = base_name(value);
    bool once = value.kind == ValueKind::parameter || value.kind == ValueKind::norms;
    std::string name =
        once ? base : part_name(base, planned.micro_batch, plan_.micro_batches());
    std::int32_t tile = planned.index;
    std::int32_t writer = 0;
    if (own.spread.moves != nullptr) {
      const Moves& moves = *own.spread.moves;
      const PlacedBuffer& placed = moves.buffers[as_index(
          moves.first_buffer[as_index(planned.device)] + planned.index)];
      if (placed.kind == PlacedBuffer::Kind::zeros)
        return at_device(fmt::format("zeros {} {}.{}", to_string(planned.spec), planned.of,
                                     planned.index),
                         planned.device);
      if (placed.kind != PlacedBuffer::Kind::written)
        return fmt::format("{} moved {}@{}", name, planned.index, planned.device);
      tile = placed.tile;
      writer = placed.origin;
    } else {
      const TileSet& set = plan_.tables.tiles.set(own.spread.set);
      tile = set.tiles[as_index(set.first[as_index(planned.device)] + planned.index)];
    }
    if (value.kind == ValueKind::norms) return fmt::format("{}/{}", name, tile);
    if (own.stored.shared) {
      Region region = region_of(plan_.tables.tiles, own.stored, tile, own.spec.shape);
      std::string slice = to_string(
          SliceName{name, own.spec.shape, region, planned.device, plan_.has_peers()});
      made.part_of = base;
      made.whole = own.spec.shape;
      made.region = region;
      if (!once) shift_to_part(value, planned.micro_batch, made);
      return slice;
    }
    auto writers = static_cast<std::int32_t>(value.writers.size());
    const ValueUse& use = value.writers[as_index(writer % writers)];
    const Job& job = outline().jobs[as_index(use.job)];
    if (value.kind == ValueKind::gradient || value.kind == ValueKind::parameter_gradient) {
      const Signature& s = plan_.tables.index.signatures[as_index(job.op)];
      int slot = job.phase->uses[as_index(use.use)].slot;
      name = part_name(fmt::format("d {}.{}", graph_.operators[as_index(job.op)].name,
                                   s.slots[as_index(slot)].name),
                       planned.micro_batch, plan_.micro_batches());
    }
    return tile_name(name, plan_.distribution.jobs[as_index(use.job)].set, tile);
  }

  std::string tile_name(const std::string& name, TileSetId set, std::int32_t tile) const {
    return plan_.tables.tiles.set(set).count() == 1 ? name : fmt::format("{}/{}", name, tile);
  }

  /// The host knows the whole batch: rows of the first micro-batch become those of this one.
  void shift_to_part(const OutlinedValue& value, std::int32_t part, BufferSpec& made) const {
    made.whole = graph_.tensors[as_index(value.of)].spec.shape;
    if (made.whole.rank() == 0 || plan_.micro_batches() == 1) return;
    std::int64_t rows = made.whole[0] / plan_.micro_batches() * part;
    made.region.ranges[0].begin += rows;
    made.region.ranges[0].end += rows;
  }

  std::string name_of_state(const PlannedBuffer& planned, BufferSpec& made) {
    const UpdatePlan& update = plan_.updates[as_index(planned.of)];
    const Parameter& parameter = parameter_of(planned.of);
    const DistributedValue& weight = plan_.distribution.values[as_index(update.weight)];
    std::int32_t place = planned.micro_batch;
    Signature s = signature(*update.rule, std::vector{parameter.spec});
    std::string name = parameter.name + "." + s.slots[as_index(planned.index)].name;
    Region region = region_of(plan_.tables.tiles, weight.stored, place, weight.spec.shape);
    std::string own = to_string(
        SliceName{name, weight.spec.shape, region, planned.device, plan_.has_peers()});
    made.part_of = name;
    made.region = region;
    made.whole = weight.spec.shape;
    if (update.shared != nullptr) {
      std::int64_t length = planned.spec.shape.elements();
      std::int64_t begin = length * update.shared->places[as_index(place)].owner;
      made.run = Range{std::min(begin, region.elements()),
                   std::min(begin + length, region.elements())};
      own += fmt::format(" from {}", begin);
    }
    return own;
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
      std::string name = name_of(call);
      if (call.kind != PlannedCall::Kind::bucket)
        name += fmt::format(" {}", to_string(call.call.kind));
      Communication made{.name = std::move(name),
                         .call = call.call,
                         .dtype = call.dtype,
                         .rule = call.rule};
      for (std::int32_t device : call.devices) made.devices.push_back(DeviceId(as_index(device)));
      for (std::int32_t buffer : call.buffers)
        made.buffers.push_back(buffer < 0 ? BufferId{} : id_of(buffer));
      made_.graph.communications.push_back(std::move(made));
    }
  }

  std::string name_of(const PlannedCall& call) const {
    switch (call.kind) {
      case PlannedCall::Kind::moves:
        return part_name(base_name(outline().values[as_index(call.of)]), call.micro_batch,
                         plan_.micro_batches());
      case PlannedCall::Kind::scatter:
        return "d " + parameter_of(call.of).name;
      case PlannedCall::Kind::gather:
        return parameter_of(call.of).name;
      case PlannedCall::Kind::bucket:
        return fmt::format("bucket of {} gradients",
                           plan_.buckets[as_index(call.of)].parts.size());
      case PlannedCall::Kind::totals:
        return name_of_sum(call.of);
    }
    throw Bug("a communication of no kind");
  }

  std::string name_of_sum(std::int32_t sum) const {
    if (sum < 2) return sum == 0 ? "loss" : "guard";
    return "output " + graph_.outputs[as_index(sum - 2)].name;
  }

  void bind_task(const PlannedTask& planned) {
    Task task{.id = {static_cast<std::int32_t>(planned.id.bits >> 32),
                     static_cast<std::int32_t>(planned.id.bits)},
              .device = DeviceId(as_index(planned.device)),
              .lag = planned.lag};
    for (const PlannedUse& use : planned.uses)
      task.uses.push_back({id_of(use.buffer), use.access});
    if (planned.scratch >= 0) task.scratch = id_of(planned.scratch);
    bind_work(planned, task);
    if (planned.scratch >= 0)
      made_.graph[task.scratch].name = task.name + " scratch";
    made_.graph.tasks.push_back(std::move(task));
  }

  void bind_work(const PlannedTask& planned, Task& task) {
    switch (planned.kind) {
      case WorkKind::phase:
        return bind_phase(planned, task);
      case WorkKind::update:
        task.name = parameter_of(planned.of).name +
                    (planned.unit->key.phase == Phase::statistics_1 ? " norms" : " update");
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
      case WorkKind::finish: {
        task.kind = planned.kind == WorkKind::start ? TaskKind::start : TaskKind::finish;
        task.communication = CommunicationId(as_index(planned.call));
        task.member = planned.member;
        task.name = made_.graph.communications[as_index(planned.call)].name +
                    (planned.kind == WorkKind::start ? " start" : "");
        return;
      }
    }
  }

  void bind_phase(const PlannedTask& planned, Task& task) {
    auto job = as_index(planned.of);
    const Job& own = outline().jobs[job];
    // A fused forward unit is named after its first operator, and stands at its last.
    std::vector<std::size_t> jobs;
    for (const ValueUse& use : planned.unit->operands)
      if (jobs.empty() || jobs.back() != as_index(use.job)) jobs.push_back(as_index(use.job));
    std::ranges::sort(jobs);
    auto [first, last] = std::ranges::unique(jobs);
    jobs.erase(first, last);
    const Job& named = own.backward ? own : outline().jobs[jobs.front()];
    std::string name = part_name(fmt::format("{} {}", graph_.operators[as_index(named.op)].name,
                                             to_string(named.phase->phase)),
                                 planned.micro_batch, plan_.micro_batches());
    task.name = tile_name(name, plan_.distribution.jobs[job].set, planned.index);
    if (!planned.unit->key.fused.empty())
      task.name += fmt::format(" +{}", planned.unit->key.fused.size());
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
    task.name = name_of(planned);
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

  std::string name_of(const PlannedTask& planned) const {
    if (planned.kind == WorkKind::guard) return "guard";
    if (planned.kind == WorkKind::square_sum) return parameter_of(planned.of).name + " square_sum";
    const BufferSpec& written = made_.graph.buffers[as_index(planned.uses.back().buffer)];
    const BufferSpec& read = made_.graph.buffers[as_index(planned.uses.front().buffer)];
    if (planned.kind == WorkKind::reorder)
      return fmt::format("{} to {}", read.name, to_string(written.layout));
    std::string name = written.name;
    if (planned.of >= 0) {
      const OutlinedValue& value = outline().values[as_index(planned.of)];
      bool total = written.spec == TensorSpec{{1}, DType::f64};
      bool once = total || value.kind == ValueKind::parameter_gradient ||
                  value.kind == ValueKind::parameter || value.kind == ValueKind::norms;
      name = once ? base_name(value)
                  : part_name(base_name(value), planned.micro_batch, plan_.micro_batches());
    }
    return planned.kind == WorkKind::sum ? name + " sum" : name + " copy";
  }

  const ProgramPlan& plan_;
  const PlannedTasks& planned_;
  const KernelTable& table_;
  const Graph& graph_;
  Bound made_;
};

}  // namespace

Bound bind(const ProgramPlan& plan, const PlannedTasks& tasks, const KernelTable& table) {
  return Binder(plan, tasks, table).run();
}

}  // namespace troika
