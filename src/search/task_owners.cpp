#include "search/task_owners.h"

#include "base/error.h"
#include "strategy/cut_strategy.h"

namespace troika {
namespace {

constexpr OperatorPlace kNone = -1;
/// Greater phases in ids are not of operators: a value is moved (DeviceEmitter::id_of).
constexpr std::uint32_t kLastPhase = static_cast<std::uint32_t>(Phase::backward_apply);
constexpr std::uint32_t kUpdate = static_cast<std::uint32_t>(Phase::update);
constexpr std::uint32_t kParameterGradient = 10, kGradientBucket = 11;

IdFields fields_of(const Task& task) { return unpack(packed_id(task.id)); }

OperatorPlace find(const std::vector<OperatorPlace>& owners, std::uint32_t number) {
  return number < owners.size() ? owners[number] : kNone;
}

}  // namespace

TaskOwners::TaskOwners(const Graph& model, const Strategy& strategy)
    : of_parameter_(model.parameters.size(), kNone) {
  LayerCuts cuts = layer_cuts(strategy, model);
  CutGraph cut = cut_layers(model, cuts);
  for (const OperatorOrigin& origin : cut.origins) of_operator_.push_back(origin.of);
  for (const Tensor& tensor : cut.graph.tensors)
    of_tensor_.push_back(tensor.producer.valid() ? of_operator_[tensor.producer.index()] : kNone);
  for (std::size_t op = model.operators.size(); op-- > 0;)
    for (ParameterId parameter : model.operators[op].parameters)
      of_parameter_[parameter.index()] = static_cast<OperatorPlace>(op);
}

OperatorPlace TaskOwners::kernel_owner(const Task& task) const {
  if (!task.computes()) return kNone;
  IdFields id = fields_of(task);
  if (id.subject == Subject::operation && id.phase <= kLastPhase)
    return find(of_operator_, id.number);
  // The next number is that of the square sums before an update.
  bool updates = id.phase == kUpdate || id.phase == kUpdate + 1;
  return id.subject == Subject::parameter && updates ? find(of_parameter_, id.number) : kNone;
}

OperatorPlace TaskOwners::moved_for(const Task& task) const {
  IdFields id = fields_of(task);
  switch (id.subject) {
    case Subject::operation:
      return find(of_operator_, id.number);
    case Subject::tensor:
      return find(of_tensor_, id.number);
    case Subject::parameter:
      return find(of_parameter_, id.number);
    case Subject::step:
      return kNone;
  }
  throw Bug("a task for nothing");
}

bool moves_parameter_gradient(const Task& task) {
  IdFields id = fields_of(task);
  return id.subject == Subject::parameter &&
         (id.phase == kParameterGradient || id.phase == kGradientBucket);
}

}  // namespace troika
