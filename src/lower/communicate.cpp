#include "lower/communicate.h"

#include <fmt/format.h>

#include "base/error.h"
#include "lower/assemble_task.h"

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
    case Collective::all_to_all:
      return {Access::write, Access::update};
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      return {Access::update, Access::update};
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
    case Collective::barrier:
      break;
  }
  throw Bug(fmt::format("lowering makes no {}", to_string(kind)));
}

}  // namespace

void add_communication(Draft& draft, const CommunicationRequest& request) {
  const BufferSpec first = draft.tasks[request.buffers[0]];
  auto members = static_cast<int>(request.buffers.size());
  CommunicationId id(draft.tasks.communications.size());
  Communication made{
      .name = fmt::format("{} {}", request.name, to_string(request.kind)),
      .call = {.kind = request.kind,
               .members = members,
               .count = first.spec.shape.elements() / vectors_in_buffer(request.kind),
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
  return add_assemble(draft,
                      {.fragment = request.fragment,
                       .name = name,
                       .spec = spec,
                       .device = from.device,
                       .category = from.category,
                       .into = request.into},
                      {{request.from, request.box, Region::whole(spec.shape)}});
}

}  // namespace troika
