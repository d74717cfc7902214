#include "lower/folding.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cost/predict_time.h"
#include "lower/message_urgency.h"

namespace troika {
namespace {

using Tasks = std::vector<FoldedTask>;
using TaskOrder = decltype(FoldedTask{}.order());

/// Sorts short keys instead of the tasks themselves.
void sort_tasks(Tasks& tasks) {
  struct Key {
    TaskOrder order;
    std::size_t at;
  };
  std::vector<Key> keys;
  keys.reserve(tasks.size());
  for (std::size_t at = 0; at < tasks.size(); ++at) keys.push_back({tasks[at].order(), at});
  std::ranges::sort(keys, {}, &Key::order);
  Tasks sorted;
  sorted.reserve(tasks.size());
  for (const Key& key : keys) sorted.push_back(tasks[key.at]);
  tasks = std::move(sorted);
}

/// The first task from `begin` on that does not come before `order`. Looks nearby first, because a
/// change concerns tasks that are close together.
std::ptrdiff_t find_from(const Tasks& tasks, std::ptrdiff_t begin, const TaskOrder& order) {
  std::ptrdiff_t step = 1;
  while (begin + step < std::ssize(tasks) && tasks[as_index(begin + step)].order() < order) {
    begin += step;
    step *= 2;
  }
  auto last = tasks.begin() + std::min(begin + step, std::ssize(tasks));
  return std::ranges::lower_bound(tasks.begin() + begin, last, order, {}, &FoldedTask::order) -
         tasks.begin();
}

/// Tasks that stay, next to each other, and how far they move.
struct StayingTasks {
  std::ptrdiff_t begin, end, shift;
};

/// Their new places never overlap the old ones of others that have still to move: those that move
/// down go in their order, then those that move up in reverse.
void move_staying(Tasks& tasks, std::span<const StayingTasks> runs) {
  auto at = [&](std::ptrdiff_t place) { return tasks.begin() + place; };
  for (const StayingTasks& run : runs)
    if (run.shift < 0) std::move(at(run.begin), at(run.end), at(run.begin + run.shift));
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (run->shift > 0) std::move_backward(at(run->begin), at(run->end), at(run->end + run->shift));
}

/// Replaces some of the tasks, which are in their order. In place: a device has many more tasks
/// than a change concerns.
void replace_tasks(Tasks& tasks, std::vector<TaskOrder>& gone, Tasks& added) {
  std::ranges::sort(gone);
  std::ranges::sort(added, {}, &FoldedTask::order);
  std::vector<StayingTasks> runs;
  std::vector<std::ptrdiff_t> places;  // of those added
  std::ptrdiff_t begin = 0, shift = 0;
  auto leaves = gone.begin();
  while (leaves != gone.end() || places.size() < added.size()) {
    bool adds = places.size() < added.size() &&
                (leaves == gone.end() || added[places.size()].order() < *leaves);
    std::ptrdiff_t at = find_from(tasks, begin, adds ? added[places.size()].order() : *leaves);
    if (at > begin) runs.push_back({begin, at, shift});
    if (adds) {
      places.push_back(at + shift++);
    } else {
      ++leaves, ++at, --shift;
    }
    begin = at;
  }
  runs.push_back({begin, std::ssize(tasks), shift});
  std::size_t size = tasks.size() + added.size() - gone.size();
  tasks.resize(std::max(tasks.size(), size));
  move_staying(tasks, runs);
  tasks.resize(size);
  for (std::size_t at = 0; at < added.size(); ++at)
    tasks[as_index(places[at])] = std::move(added[at]);
}

/// Enough of a task to find it among the others of its device.
FoldedTask named(const PlannedTask& task) {
  return {.turn = task.turn, .id = task.id, .lag = task.lag};
}

/// Whether a change concerns what a buffer is for.
bool concerns(const BufferRef& buffer, const Touched& touched) {
  switch (owner_of(buffer.role)) {
    case BufferOwner::job:
      return std::ranges::binary_search(touched.jobs, buffer.of);
    case BufferOwner::value:
      return std::ranges::binary_search(touched.values, buffer.of);
    case BufferOwner::update:
      return std::ranges::binary_search(touched.updates, buffer.of);
    case BufferOwner::several_updates:
      return !touched.updates.empty();
    case BufferOwner::nothing:
      return false;
  }
  throw Bug("a buffer of no owner");
}

/// Whether it concerns a buffer that is copied.
bool concerns(const Fragment& copies, const Touched& touched) {
  return std::ranges::any_of(copies.uses,
                             [&](const PlannedUse& use) { return concerns(use.buffer, touched); });
}

}  // namespace

Folding::Folding(const ProgramPlan& plan, const KernelTable& table, std::optional<Classes> given)
    : plan_(plan),
      table_(table),
      given_(std::move(given)),
      links_(links_of(plan.request)),
      network_(*plan.request.machine, links_),
      all_links_(network_.links()),
      processes_(devices_by_rank(*plan.request.machine)),
      aspects_(network_),
      movements_(*plan.request.machine),
      calls_(plan, network_, links_) {}

void Folding::fold() {
  devices_.clear();
  fold_again({});
}

void Folding::fold_again(Touched touched) {
  for (std::size_t at = 0; at < graph_.tasks.size(); ++at)
    if (auto known = devices_.find(graph_.classes.first[at]); known != devices_.end())
      known->second.tasks = std::move(graph_.tasks[at]);
  bool step = set_classes(touched) || concerns_step(touched);
  missing_.clear();
  missing_movements_.clear();
  graph_.tasks.clear();
  std::map<std::int32_t, FoldedDevice> devices;
  for (std::int32_t device : graph_.classes.first) {
    auto known = devices_.extract(device);
    FoldedDevice& folded = devices[device];
    if (known.empty()) {
      folded = emit_device(device);
    } else {
      folded = std::move(known.mapped());
      emit_again(device, folded, {touched, step});
    }
    graph_.tasks.push_back(std::move(folded.tasks));
  }
  devices_ = std::move(devices);
  set_runtime_costs();
}

/// Devices of a class that take part in communications are in processes which have devices of the
/// same classes, so the process of the first one stands for all. In training all of them do.
void Folding::set_runtime_costs() {
  std::vector<ProcessInputs> processes;
  std::vector<char> is_known(graph_.classes.first.size());
  for (std::int32_t first : graph_.classes.first) {
    if (is_known[as_index(graph_.classes.of_device[as_index(first)])]) continue;
    ProcessInputs& process = processes.emplace_back();
    int rank = plan_.request.machine->devices[as_index(first)].rank;
    for (DeviceId device : processes_[as_index(rank)]) {
      std::int32_t own = graph_.classes.of_device[device.index()];
      process.bytes += devices_.at(graph_.classes.first[as_index(own)]).inputs;
      if (!std::exchange(is_known[as_index(own)], true)) process.lanes.push_back(own);
    }
  }
  graph_.runtime = runtime_costs(processes, links_.memory);
  graph_.runtime.moves_beside = plan_.request.machine->moves_beside;
}

/// Where a message is named by another member than before, its ends are made again.
bool Folding::set_classes(Touched& touched) {
  Partition partition = given_ ? Partition{*given_, one_class_each(network_.machine()).links}
                               : find_partition(plan_, aspects_);
  FoldedCalls::Changed changes = calls_.set_classes(partition);
  std::vector<const Moves*>& changed = changes.moves;
  graph_.links.clear();
  for (std::size_t link = 0; link < all_links_.size(); ++link)
    if (partition.links[link] == all_links_[link].number) graph_.links.push_back(all_links_[link]);
  graph_.classes = std::move(partition.devices);
  if (changed.empty()) return changes.totals;
  std::ranges::sort(changed);
  auto is_changed = [&](std::int32_t value) {
    return value >= 0 && std::ranges::binary_search(
                             changed, plan_.distribution.values[as_index(value)].spread.moves);
  };
  for (std::size_t at = 0; at < plan_.distribution.values.size(); ++at)
    if (is_changed(static_cast<std::int32_t>(at)))
      touched.values.push_back(static_cast<std::int32_t>(at));
  for (std::size_t at = 0; at < plan_.updates.size(); ++at)
    if (is_changed(plan_.updates[at].gradient))
      touched.updates.push_back(static_cast<std::int32_t>(at));
  sort_all(touched);
  return changes.totals;
}

Folding::FoldedDevice Folding::emit_device(std::int32_t device) {
  DeviceEmitter emitter(plan_, movements_, device);
  FoldedDevice made{.fragments = emit_all(emitter, plan_)};
  std::size_t count = 0;
  for (const Fragment& fragment : made.fragments) count += fragment.tasks.size();
  made.tasks.reserve(count);
  for (const Fragment& fragment : made.fragments) add_folded(fragment, device, made.tasks);
  sort_tasks(made.tasks);
  made.inputs = emitter.input_bytes();
  made.versions = {std::vector(made.fragments.size(), version_ + 1), version_ + 1};
  ++version_;
  return made;
}

void Folding::emit_again(std::int32_t device, FoldedDevice& known, const Again& again) {
  const Touched& touched = again.touched;
  DeviceEmitter emitter(plan_, movements_, device);
  std::vector<TaskOrder> gone;
  Tasks added;
  bool copies = false;
  auto replace = [&](std::size_t at, const Fragment& made) {
    Fragment& before = known.fragments[at];
    known.versions.fragments[at] = version_ + 1;
    if (before.is_empty() && made.is_empty()) return;
    for (const PlannedTask& task : before.tasks) gone.push_back(named(task).order());
    add_folded(made, device, added);
    if (!before.tasks.empty() || !made.tasks.empty()) known.versions.all = version_ + 1;
    copies = copies || before.wanted != made.wanted;
    before = made;
  };
  for (std::int32_t job : touched.jobs) replace(as_index(job), emitter.emit_job(as_index(job)));
  for (std::int32_t value : touched.values)
    replace(first_value() + as_index(value), emitter.emit_value(as_index(value)));
  for (std::int32_t update : touched.updates)
    replace(first_update() + as_index(update), emitter.emit_update(as_index(update)));
  if (again.step) replace(step_fragment(), emitter.emit_step());
  if (copies || concerns(known.fragments.back(), touched))
    replace(step_fragment() + 1,
            emitter.emit_copies(std::span(known.fragments).first(step_fragment() + 1)));
  replace_tasks(known.tasks, gone, added);
  if (std::ranges::any_of(touched.values,
                          [&](std::int32_t value) { return emitter.is_input(as_index(value)); }))
    known.inputs = emitter.input_bytes();
  // The host may give a device buffers, or read some, that none of its tasks use.
  auto is_stored = [&](std::int32_t value) {
    return plan_.distribution.values[as_index(value)].stored.shared;
  };
  if (again.step || std::ranges::any_of(touched.values, is_stored))
    known.versions.all = version_ + 1;
  ++version_;
}

/// Its numbers are the loss, outputs, and squares of gradients.
bool Folding::concerns_step(const Touched& touched) const {
  const OptimizerSpec* optimizer = plan_.request.optimizer;
  if (!touched.updates.empty() && optimizer != nullptr && optimizer->watches_gradient())
    return true;
  const Graph& graph = *plan_.request.graph;
  std::vector<TensorId> read;
  if (optimizer != nullptr) read = {graph.loss->loss_sum, graph.loss->weight_sum};
  for (const NamedTensor& output : graph.outputs) read.push_back(output.tensor);
  return std::ranges::any_of(read, [&](TensorId tensor) {
    std::int32_t value = plan_.distribution.outline.tensors[tensor.index()];
    return value >= 0 && std::ranges::binary_search(touched.values, value);
  });
}

void Folding::add_folded(const Fragment& fragment, std::int32_t device,
                         std::vector<FoldedTask>& tasks) {
  for (const PlannedTask& task : fragment.tasks) {
    FoldedTask made = named(task);
    if (task.computes()) {
      const DeviceSpec& spec = plan_.request.machine->devices[as_index(device)];
      made.time = time_on(spec, time_of(task, device));
    } else {
      made.kind = task.kind == WorkKind::start ? TaskKind::start : TaskKind::finish;
      made.call = calls_.name_of(task);
    }
    if (task.kind == WorkKind::finish) {
      Bytes bytes = bytes_of(task, fragment, device);
      made.time = calls_.time_of(task, bytes);
      made.phases = calls_.phases_of(task, bytes);
      made.urgency = urgency_of(plan_, task);
    }
    tasks.push_back(std::move(made));
  }
}

Bytes Folding::bytes_of(const PlannedTask& finish, const Fragment& fragment,
                        std::int32_t device) const {
  return PlannedDevice(plan_, device).bytes_of(fragment.uses_of(finish)[0].buffer);
}

/// Requires a task that computes. Returns its time on a device of this kind that is not slowed
/// down.
SimTime Folding::time_of(const PlannedTask& task, std::int32_t device) {
  switch (task.kind) {
    case WorkKind::phase:
    case WorkKind::update:
      return task.unit->choice.time;
    case WorkKind::sum:
    case WorkKind::assemble:
    case WorkKind::reorder:
    case WorkKind::square_sum:
    case WorkKind::guard:
      return movement_time(task.movement, device);
    case WorkKind::start:
    case WorkKind::finish:
      break;
  }
  throw Bug("a task that does not compute");
}

SimTime Folding::movement_time(std::int32_t movement, std::int32_t device) {
  if (movement_times_.size() < movements_.size()) movement_times_.resize(movements_.size());
  std::optional<SimTime>& known = movement_times_[as_index(movement)];
  if (known) return *known;
  const DeviceSpec& spec = plan_.request.machine->devices[as_index(device)];
  std::optional<KernelChoice> choice = choose_kernel(movements_[movement], spec, table_);
  if (choice) return *(known = choice->time);
  // Devices of one kind with other rates need the same row.
  KernelRequest row{spec.kind, movements_[movement].key};
  if (missing_movements_.insert(movement).second && std::ranges::count(missing_, row) == 0)
    missing_.push_back(std::move(row));
  return {};
}

std::span<const Fragment> Folding::fragments_of(std::int32_t a_class) const {
  return devices_.at(graph_.classes.first[as_index(a_class)]).fragments;
}

const Folding::Versions& Folding::versions_of(std::int32_t a_class) const {
  return devices_.at(graph_.classes.first[as_index(a_class)]).versions;
}

}  // namespace troika
