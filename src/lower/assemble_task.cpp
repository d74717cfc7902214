#include "lower/assemble_task.h"

namespace troika {

BufferId add_assemble(Draft& draft, const AssembleRequest& request,
                      const std::vector<AssembledPart>& parts) {
  const Shape& shape = request.spec.shape;
  Assemble op{.shape = {shape.begin(), shape.end()}, .greatest = request.greatest};
  Task task{.name = request.name, .device = request.device};
  for (const AssembledPart& part : parts) {
    add_box(op, {part.from, part.to});
    task.key.inputs.push_back(draft.tasks[part.buffer].spec);
    task.uses.push_back({part.buffer, Access::read});
  }
  task.key.op = std::move(op);
  BufferId into =
      request.into.valid()
          ? request.into
          : add_buffer(draft, {request.name, request.spec, request.device, request.category});
  task.uses.push_back({into, Access::write});
  add_task(draft, request.fragment, std::move(task));
  return into;
}

}  // namespace troika
