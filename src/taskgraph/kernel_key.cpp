#include "taskgraph/kernel_key.h"

#include <algorithm>

#include "base/error.h"

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

/// The phase of a fused operator that runs with the key's phase.
Phase phase_behind(const KernelKey& key) {
  return is_backward(key.phase) ? Phase::backward_data : Phase::forward;
}

bool is_output(const Signature& s, const Use& use) {
  return s.slots[static_cast<std::size_t>(use.slot)].role == Role::output;
}

/// Position among the phase's uses of the only one that is such a use of the output; -1: none.
int find_output(const KernelKey& key, Access access, bool gradient) {
  Signature s = signature(key.op, key.inputs);
  const std::vector<Use>& uses = s.at(key.phase).uses;
  int found = -1;
  for (std::size_t at = 0; at < uses.size(); ++at) {
    if (!is_output(s, uses[at]) || uses[at].access != access || uses[at].gradient != gradient)
      continue;
    if (found >= 0) return -1;
    found = static_cast<int>(at);
  }
  return found;
}

/// Values between two operators of the chain are nobody's operands.
std::vector<Operand> forward_operands(const KernelKey& key, const std::vector<Signature>& chain) {
  std::vector<Operand> operands;
  for (std::size_t at = 0; at < chain.size(); ++at) {
    bool first = at == 0, last = at + 1 == chain.size();
    for (const Use& use : chain[at].at(first ? key.phase : Phase::forward).uses) {
      bool passed_on = !last && use.access == Access::write && is_output(chain[at], use);
      bool taken = !first && use.slot == 0;
      if (!passed_on && !taken) operands.push_back(operand_of(chain[at], use));
    }
  }
  return operands;
}

std::vector<Operand> backward_operands(const KernelKey& key, const std::vector<Signature>& chain) {
  std::vector<Operand> operands;
  for (const Use& use : chain[0].at(key.phase).uses) operands.push_back(operand_of(chain[0], use));
  auto written = std::ranges::find_if(
      operands, [](const Operand& operand) { return operand.access != Access::read; });
  std::vector<Operand> more;
  for (std::size_t at = 1; at < chain.size(); ++at) {
    for (const Use& use : chain[at].at(Phase::backward_data).uses)
      if (!use.gradient) more.push_back(operand_of(chain[at], use));
  }
  operands.insert(written, more.begin(), more.end());
  return operands;
}

/// No operator, phase or tensor has a space in its text.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// True if all integers in the text have at most 9 digits, so that sums and differences of sizes do
/// not overflow. Neither the digits of a fraction nor the stream of random numbers are a size.
bool has_plain_sizes(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::size_t kMostDigits = 9;
  for (std::size_t end = 0;;) {
    std::size_t begin = text.find_first_of(kDigits, end);
    if (begin == text.npos) return true;
    end = std::min(text.find_first_not_of(kDigits, begin), text.size());
    std::string_view before = text.substr(0, begin);
    bool is_size = !before.ends_with('.') && !before.ends_with("stream=");
    if (is_size && end - begin > kMostDigits) return false;
  }
}

}  // namespace

std::vector<Operand> operands_of(const KernelKey& key) {
  std::vector<Signature> chain = chain_of(key);
  return is_backward(key.phase) ? backward_operands(key, chain) : forward_operands(key, chain);
}

std::vector<std::int64_t> origin_of(const KernelKey& key) {
  std::vector<Signature> chain = chain_of(key);
  std::vector<std::int64_t> all = position_of(key.op, chain[0], chain[0].whole_tile());
  for (std::size_t at = 1; at < chain.size(); ++at) {
    auto more = position_of(key.fused[at - 1].op, chain[at], chain[at].whole_tile());
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::size_t position_count(const KernelKey& key) { return origin_of(key).size(); }

int output_operand(const KernelKey& key) { return find_output(key, Access::write, false); }

int output_gradient(const KernelKey& key) { return find_output(key, Access::read, true); }

Flops flops_of(const KernelKey& key) {
  Flops total;
  std::vector<Signature> chain = chain_of(key);
  for (std::size_t at = 0; at < chain.size(); ++at)
    total += chain[at].at(at == 0 ? key.phase : phase_behind(key)).flops;
  return total;
}

Bytes bytes_of(const KernelKey& key) {
  Bytes total;
  for (const Operand& operand : operands_of(key))
    total += operand.access == Access::update ? operand.spec.bytes() * 2 : operand.spec.bytes();
  return total;
}

std::uint64_t hash(const KernelKey& key) {
  std::uint64_t value = mix(mix(key.inputs.size(), key.op), static_cast<std::uint64_t>(key.phase));
  for (const TensorSpec& input : key.inputs) value = mix(value, input);
  for (const FusedOp& next : key.fused) {
    value = mix(mix(value, next.op), next.others.size());
    for (const TensorSpec& input : next.others) value = mix(value, input);
  }
  return value;
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

std::optional<KernelKey> parse_key(std::string_view text) {
  std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2 || !has_plain_sizes(text)) return {};
  try {
    KernelKey key{parse_op(words[0]), {}, parse_phase(words[1]), {}};
    for (std::size_t at = 2; at < words.size(); ++at) {
      std::vector<TensorSpec>& inputs = key.fused.empty() ? key.inputs : key.fused.back().others;
      if (words[at] != "+")
        inputs.push_back(parse_tensor_spec(words[at]));
      else if (++at < words.size())
        key.fused.push_back({parse_op(words[at]), {}});
    }
    // Attributes of the same names may have had another meaning.
    signature(key.op, key.inputs);
    return key;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace troika
