#include "lower/communicate.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika {
namespace {

struct Accesses {
  Access start, finish;
};

/// What a member's buffer is to each of its two tasks.
Accesses accesses_of(Collective kind, bool is_root) {
  switch (kind) {
    case Collective::broadcast:
      return is_root ? Accesses{Access::read, Access::read}
                     : Accesses{Access::write, Access::update};
    case Collective::all_gather:
      return {Access::write, Access::update};
    default:
      return {Access::update, Access::update};
  }
}

}  // namespace

void add_communication(Draft& draft, const CommunicationRequest& request) {
  const BufferSpec first = draft.tasks[request.buffers[0]];
  auto members = static_cast<int>(request.buffers.size());
  CommunicationId id(draft.tasks.communications.size());
  Communication made{.name = fmt::format("{} {}", request.name, to_string(request.kind)),
                     .call = {.kind = request.kind,
                              .members = members,
                              .count = first.spec.shape.elements(),
                              .ranges = request.ranges,
                              .order = request.order},
                     .dtype = first.spec.dtype,
                     .rule = request.rule,
                     .buffers = request.buffers};
  if (made.call.ranges.empty()) made.call.ranges.resize(static_cast<std::size_t>(members));
  for (BufferId buffer : request.buffers) {
    TROIKA_CHECK(draft.tasks[buffer].spec == first.spec, "members of " + made.name + " differ");
    made.devices.push_back(draft.tasks[buffer].device);
  }
  draft.tasks.communications.push_back(made);
  for (TaskKind kind : {TaskKind::start, TaskKind::finish}) {
    for (int member = 0; member < members; ++member) {
      auto at = static_cast<std::size_t>(member);
      Accesses accesses = accesses_of(request.kind, member == 0);
      Access access = kind == TaskKind::start ? accesses.start : accesses.finish;
      add_task(draft, request.fragment,
               {.name = made.name + (kind == TaskKind::start ? " start" : ""),
                .device = made.devices[at],
                .uses = {{made.buffers[at], access}},
                .kind = kind,
                .communication = id,
                .member = member});
    }
  }
}

BufferId add_copy(Draft& draft, const CopyRequest& request) {
  const BufferSpec from = draft.tasks[request.from];
  TensorSpec spec{request.box.shape(), from.spec.dtype};
  std::string name = request.box.shape() == from.spec.shape
                         ? from.name + " copy"
                         : fmt::format("{}{}", from.name, to_string(request.box));
  BufferId into = request.into.valid()
                      ? request.into
                      : add_buffer(draft, {name, spec, from.device, from.category});
  Assemble op{.shape = {spec.shape.begin(), spec.shape.end()}};
  add_box(op, {request.box, Region::whole(spec.shape)});
  add_task(draft, request.fragment,
           {.name = name,
            .device = from.device,
            .key = {op, {from.spec}, Phase::forward, {}},
            .uses = {{request.from, Access::read}, {into, Access::write}}});
  return into;
}

}  // namespace troika
