#include "lower/device_memory.h"

#include <algorithm>

#include "lower/place_buffers.h"

namespace troika {

void PlannedState::add(Bytes stored, Bytes plain, Category category) {
  bytes += stored;
  staging = std::max(staging, plain);
  categories[as_index(static_cast<int>(category))] += stored;
}

const MovementMemory::Work& MovementMemory::of(std::int32_t movement, std::int32_t device) {
  if (known_.size() <= as_index(movement)) known_.resize(as_index(movement) + 1);
  std::optional<Work>& known = known_[as_index(movement)];
  if (known) return *known;
  const Movement& asked = folding_.movements()[movement];
  const DeviceSpec& spec = folding_.plan().request.machine->devices[as_index(device)];
  KernelChoice choice = choose_kernel(asked, spec, table_).value();
  known = Work{.scratch = choice.scratch};
  for (const Candidate& candidate : *table_.find(spec.kind, asked.key)) {
    if (candidate.algorithm != choice.algorithm ||
        !(candidate.flat || candidate.layouts == choice.layouts))
      continue;
    known->in_place = candidate.in_place;
    break;
  }
  return *known;
}

DeviceMemory::DeviceMemory(const Tables& tables, std::int32_t device)
    : tables_(tables),
      plan_(tables.folding.plan()),
      device_(device),
      buffers_(plan_, device),
      pass_(buffers_),
      outputs_{plan_.distribution.outline.jobs.size() + plan_.distribution.values.size() +
               plan_.updates.size()} {
  list_host_values();
}

void DeviceMemory::list_host_values() {
  const Outline& outline = plan_.distribution.outline;
  for (std::size_t at = 0; at < outline.values.size(); ++at) {
    std::size_t fragment = outline.jobs.size() + at;
    if (outline.values[at].kind == ValueKind::parameter)
      parameters_.push_back({fragment});
    else if (plan_.distribution.values[at].stored.shared)
      inputs_.push_back({fragment});
  }
}

PlannedMemory DeviceMemory::count(std::int32_t a_class, bool same_classes) {
  std::span<const Fragment> fragments = tables_.folding.fragments_of(a_class);
  versions_ = &tables_.folding.versions_of(a_class);
  buffers_.set_versions(*versions_);
  follow_fragments(fragments);
  follow_host_buffers();
  count_messages(fragments, a_class, same_classes);
  run_pass();
  PlannedMemory memory;
  for (std::int32_t state : pass_.states()) {
    const BufferMemory& buffer = buffers_[state];
    memory.state.add({buffer.bytes}, buffer.plain, buffer.category);
  }
  ArenaPass::Peak peak = pass_.find_peak(tasks_);
  memory.peak = peak.bytes;
  for (const KnownFragment& fragment : fragments_) memory.messages += fragment.messages;
  for (std::size_t at = 0; at < kCategories; ++at)
    memory.categories[at] = memory.state.categories[at] + peak.categories[at];
  memory.categories[as_index(static_cast<int>(Category::workspace))] += memory.messages;
  return memory;
}

void DeviceMemory::follow_fragments(std::span<const Fragment> fragments) {
  fragments_.resize(fragments.size());
  std::vector<bool> changed(fragments.size());
  bool any = false;
  for (std::size_t at = 0; at < fragments.size(); ++at) {
    if (fragments_[at].version == versions_->fragments[at]) continue;
    any = changed[at] = true;
    place(at, fragments[at]);
  }
  if (any) place_added(changed);
}

void DeviceMemory::place(std::size_t at, const Fragment& fragment) {
  KnownFragment& known = fragments_[at];
  known.uses.clear();
  for (const PlannedUse& use : fragment.uses) known.uses.push_back(buffers_.number_of(use.buffer));
  for (const PlannedTask& task : fragment.tasks) {
    PassTask made{.turn = task.turn,
                  .id = task.id,
                  .fragment = static_cast<std::int32_t>(at),
                  .first_use = task.first_use,
                  .lag = task.lag,
                  .use_count = task.use_count};
    Bytes scratch{};
    if (task.unit != nullptr) {
      made.in_place = &task.unit->in_place;
      scratch = task.unit->choice.scratch;
    } else if (task.movement >= 0) {
      const MovementMemory::Work& work = tables_.movements.of(task.movement, device_);
      made.in_place = &work.in_place;
      scratch = work.scratch;
    }
    made.scratch = aligned(scratch).count;
    if (made.in_place != nullptr && made.in_place->empty()) made.in_place = nullptr;
    added_.push_back(made);
  }
}

void DeviceMemory::place_added(const std::vector<bool>& changed) {
  std::ranges::sort(added_, {}, &PassTask::order);
  std::vector<PassTask> all;
  all.reserve(tasks_.size() + added_.size());
  std::erase_if(tasks_, [&](const PassTask& task) { return changed[as_index(task.fragment)]; });
  std::ranges::merge(tasks_, added_, std::back_inserter(all), {}, &PassTask::order,
                     &PassTask::order);
  tasks_ = std::move(all);
  added_.clear();
}

void DeviceMemory::follow_host_buffers() {
  const PlannedDevice& here = buffers_.device();
  auto follow = [&](HostBuffers& known, std::int64_t parts) {
    if (known.version == versions_->fragments[known.fragment]) return;
    known.version = versions_->fragments[known.fragment];
    known.buffers.clear();
    std::size_t value = known.fragment - plan_.distribution.outline.jobs.size();
    for (std::int32_t part = 0; part < parts; ++part)
      for (std::int32_t tile : here.tiles_here(plan_.distribution.values[value].stored.set))
        known.buffers.push_back(buffers_.number_of(here.written(value, part, 0, tile)));
  };
  for (HostBuffers& each : parameters_) follow(each, 1);
  for (HostBuffers& each : inputs_) follow(each, plan_.micro_batches());
  if (outputs_.version == versions_->fragments[outputs_.fragment]) return;
  outputs_.version = versions_->fragments[outputs_.fragment];
  outputs_.buffers.clear();
  // Only the emitter of the step knows what it leaves for the host.
  DeviceEmitter emitter(plan_, tables_.folding.movements(), device_);
  (void)emitter.emit_step();
  for (const HostBuffer& output : emitter.outputs())
    outputs_.buffers.push_back(buffers_.number_of(output.buffer));
}

void DeviceMemory::count_messages(std::span<const Fragment> fragments, std::int32_t a_class,
                                  bool same_classes) {
  for (std::size_t at = 0; at < fragments.size(); ++at) {
    KnownFragment& known = fragments_[at];
    if (same_classes && known.version == versions_->fragments[at]) continue;
    known.version = versions_->fragments[at];
    known.messages = messages_of(at, fragments[at], a_class);
  }
}

Bytes DeviceMemory::messages_of(std::size_t at, const Fragment& fragment, std::int32_t a_class) {
  Bytes all{};
  for (const PlannedTask& task : fragment.tasks) {
    if (task.kind != WorkKind::start) continue;
    std::int32_t buffer = fragments_[at].uses[as_index(task.first_use)];
    all += tables_.messages.of_class(task, {buffers_[buffer].bytes}, a_class);
  }
  return all;
}

void DeviceMemory::run_pass() {
  pass_.begin(tasks_.size());
  for (std::size_t place = 0; place < tasks_.size(); ++place)
    for (std::int32_t buffer : uses_of(tasks_[place]))
      pass_.use(buffer, static_cast<std::int32_t>(place), tasks_[place].lag);
  for (const HostBuffers& each : inputs_)
    for (std::int32_t buffer : each.buffers) pass_.add_input(buffer);
  for (const HostBuffers& each : parameters_)
    for (std::int32_t buffer : each.buffers) pass_.store(buffer);
  for (std::int32_t buffer : outputs_.buffers) pass_.hold(buffer);
  pass_.end_uses();
  share_in_place();
}

/// In the order of a step, as place_buffers does: tasks that lag more come behind all others.
void DeviceMemory::share_in_place() {
  std::int16_t lag = 0, most = 0;
  do {
    for (std::size_t place = 0; place < tasks_.size(); ++place) {
      const PassTask& task = tasks_[place];
      most = std::max(most, task.lag);
      if (task.lag == lag && task.in_place != nullptr)
        pass_.share(task, static_cast<std::int32_t>(place), uses_of(task));
    }
  } while (lag++ < most);
}

std::span<const std::int32_t> DeviceMemory::uses_of(const PassTask& task) const {
  return std::span(fragments_[as_index(task.fragment)].uses)
      .subspan(as_index(task.first_use), as_index(task.use_count));
}

}  // namespace troika
