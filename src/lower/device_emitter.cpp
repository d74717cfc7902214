#include "lower/device_emitter.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "lower/planned_calls.h"

namespace troika {

PlannedTask DeviceEmitter::begin(WorkKind kind, std::int32_t of, std::int32_t index,
                                 std::int32_t micro_batch) const {
  return {.kind = kind,
          .micro_batch = static_cast<std::int16_t>(micro_batch),
          .of = of,
          .index = index,
          .first_use = static_cast<std::int32_t>(fragment_.uses.size()),
          .first_position = static_cast<std::int32_t>(fragment_.positions.size())};
}

void DeviceEmitter::use(const BufferRef& buffer, Access access) {
  fragment_.uses.push_back({buffer, access});
  want_viewed(buffer.original());
}

/// A view of a copy needs that from its own place on.
void DeviceEmitter::want_viewed(BufferRef buffer) {
  while (std::optional<BufferRef> from = here_.viewed(buffer)) {
    PlannedDevice::View view = *here_.view_of(buffer);
    Moment moment{turn_of(plan_, view.job, view.micro_batch, Side::at)};
    moment.turn.rank = 1;
    if (from->is_copy()) want(*from, moment);
    buffer = from->original();
  }
}

BufferRef DeviceEmitter::in_layout(const BufferRef& buffer, Layout layout, const Moment& moment) {
  if (here_.layout_of(buffer) == layout) return buffer;
  BufferRef copy = buffer.in(layout);
  want(copy, moment);
  return copy;
}

void DeviceEmitter::want(const BufferRef& copy, const Moment& moment) {
  fragment_.wanted.push_back({copy, moment.lag, pack(moment.turn)});
}

void DeviceEmitter::add(PlannedTask task, const Moment& moment, IdFields id) {
  id.device = static_cast<std::uint32_t>(here_.number());
  task.turn = pack(moment.turn);
  task.id = pack(id);
  task.lag = static_cast<std::int16_t>(moment.lag);
  auto uses = std::ssize(fragment_.uses) - task.first_use;
  if (uses > std::numeric_limits<std::int16_t>::max())
    throw OutOfIds("a sum or a copy has more inputs than a task can have; split into fewer tiles");
  task.use_count = static_cast<std::int16_t>(uses);
  task.position_count =
      static_cast<std::int32_t>(std::ssize(fragment_.positions) - task.first_position);
  fragment_.tasks.push_back(task);
}

void DeviceEmitter::add_movement(PlannedTask task, KernelKey key, const Moment& moment,
                                 IdFields id) {
  std::vector<Layout> layouts;
  layouts.reserve(fragment_.uses.size() - as_index(task.first_use));
  for (std::size_t at = as_index(task.first_use); at < fragment_.uses.size(); ++at)
    layouts.push_back(here_.layout_of(fragment_.uses[at].buffer));
  task.movement = movements_.find_or_add(here_.number(), std::move(key), std::move(layouts));
  add(task, moment, id);
}

void DeviceEmitter::add_box(Assemble& op, PlannedTask& task, const TakenBox& box) {
  troika::add_box(op, box.to);
  TROIKA_CHECK(task.first_position <= std::ssize(fragment_.positions), "positions of another task");
  for (const Range& range : box.from.ranges) fragment_.positions.push_back(range.begin);
  if (!op.layered) return;
  for (const Range& range : box.to.ranges) fragment_.positions.push_back(range.begin);
}

void DeviceEmitter::emit_end(const CallEnd& end, const BufferRef& buffer, Moment moment,
                             IdFields id) {
  PlannedTask task =
      begin(end.starts ? WorkKind::start : WorkKind::finish, end.of, end.message, end.micro_batch);
  task.call = end.call;
  task.member = end.member;
  Collective kind = kind_of(plan_, task);
  Access access = Access::update;
  if (kind == Collective::broadcast && end.member == 0)
    access = Access::read;
  else if (end.starts && (kind == Collective::broadcast || kind == Collective::all_gather ||
                          kind == Collective::all_to_all))
    access = Access::write;
  if (!plan_.request.strategy->sync.overlap && end.starts) {
    // All members start where they finish, with the ranks that they have anyway.
    std::uint32_t rank = moment.turn.rank;
    moment = finish_of(plan_, task);
    moment.turn.rank = rank;
  }
  use(buffer, access);
  add(task, moment, id);
}

const Fragment& DeviceEmitter::emit_copies(std::span<const Fragment> fragments) {
  fragment_.clear();
  struct First {
    std::int32_t lag;
    Turn turn;
    auto operator<=>(const First&) const = default;
  };
  std::map<BufferRef, First> copies;
  for (const Fragment& fragment : fragments) {
    for (const WantedCopy& wanted : fragment.wanted) {
      First first{wanted.lag, wanted.turn};
      auto [known, is_new] = copies.try_emplace(wanted.copy, first);
      if (!is_new) known->second = std::min(known->second, first);
    }
  }
  for (const auto& [copy, first] : copies) {
    // Readers have odd ranks, so a copy fits right before each.
    Moment moment{unpack(first.turn), first.lag};
    moment.turn.rank -= 1;
    BufferRef from = copy.original();
    PlannedTask task = begin(WorkKind::reorder, copy.of, copy.index, copy.part);
    use(from, Access::read);
    use(copy, Access::write);
    bool of_value = copy.role == BufferRole::value;
    std::int32_t number = copy.index + (of_value ? 0 : static_cast<int>(copy.role) << 5);
    add_movement(task,
                 {Reorder{here_.layout_of(from), copy.copy_layout()},
                  {here_.spec_of(from)},
                  Phase::forward,
                  {}},
                 moment,
                 {.micro_batch = copy.part,
                  .phase = 15,
                  .subject = of_value ? Subject::tensor : Subject::parameter,
                  .number = static_cast<std::uint32_t>(copy.of),
                  .index = static_cast<std::uint32_t>(number * 32 + copy.copy - 1)});
  }
  fragment_.wanted.clear();
  return fragment_;
}

std::vector<Fragment> emit_all(DeviceEmitter& emitter, const ProgramPlan& plan) {
  std::vector<Fragment> fragments;
  fragments.reserve(plan.distribution.outline.jobs.size() + plan.distribution.values.size() +
                    plan.updates.size() + 2);
  for (std::size_t job = 0; job < plan.distribution.outline.jobs.size(); ++job)
    fragments.push_back(emitter.emit_job(job));
  for (std::size_t value = 0; value < plan.distribution.values.size(); ++value)
    fragments.push_back(emitter.emit_value(value));
  for (std::size_t update = 0; update < plan.updates.size(); ++update)
    fragments.push_back(emitter.emit_update(update));
  fragments.push_back(emitter.emit_step());
  fragments.push_back(emitter.emit_copies(fragments));
  return fragments;
}

}  // namespace troika
