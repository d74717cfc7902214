#include "taskgraph/kernel_key.h"

namespace troika {
namespace {

Operand operand_of(const Signature& s, const Use& use) {
  const Slot& slot = s.slots[static_cast<std::size_t>(use.slot)];
  return {use.gradient ? "d" + slot.name : slot.name, slot.spec, use.access};
}

/// Signatures of the key's operator and of those fused behind it.
std::vector<Signature> chain_of(const KernelKey& key) {
  std::vector<Signature> chain{signature(key.op, key.inputs)};
  for (const FusedOp& next : key.fused) {
    const Signature& before = chain.back();
    std::vector<TensorSpec> inputs{
        before.slots[static_cast<std::size_t>(before.slots_of(Role::output)[0])].spec};
    inputs.insert(inputs.end(), next.others.begin(), next.others.end());
    chain.push_back(signature(next.op, inputs));
  }
  return chain;
}

}  // namespace

std::vector<Operand> operands_of(const KernelKey& key) {
  std::vector<Operand> operands;
  std::vector<Signature> chain = chain_of(key);
  for (std::size_t at = 0; at < chain.size(); ++at) {
    bool first = at == 0, last = at + 1 == chain.size();
    for (const Use& use : chain[at].at(first ? key.phase : Phase::forward).uses) {
      bool between = (!last && use.access == Access::write) || (!first && use.slot == 0);
      if (!between) operands.push_back(operand_of(chain[at], use));
    }
  }
  return operands;
}

Flops flops_of(const KernelKey& key) {
  Flops total;
  std::vector<Signature> chain = chain_of(key);
  for (std::size_t at = 0; at < chain.size(); ++at)
    total += chain[at].at(at == 0 ? key.phase : Phase::forward).flops;
  return total;
}

Bytes bytes_of(const KernelKey& key) {
  Bytes total;
  for (const Operand& operand : operands_of(key))
    total += operand.access == Access::update ? operand.spec.bytes() * 2 : operand.spec.bytes();
  return total;
}

std::string to_text(const KernelKey& key) {
  std::string text = to_text(key.op) + " " + std::string(to_string(key.phase));
  for (const TensorSpec& input : key.inputs) text += " " + to_string(input);
  for (const FusedOp& next : key.fused) {
    text += " + " + to_text(next.op);
    for (const TensorSpec& input : next.others) text += " " + to_string(input);
  }
  return text;
}

}  // namespace troika
