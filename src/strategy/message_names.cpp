#include "strategy/message_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/suggest.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

constexpr std::string_view kReader = " for ";

bool is_phase(std::string_view text) {
  for (Phase phase = Phase::forward; phase <= Phase::backward_apply;
       phase = static_cast<Phase>(static_cast<int>(phase) + 1))
    if (to_string(phase) == text) return true;
  return false;
}

}  // namespace

std::string message_name(std::string_view value, const Operator& reader, Phase phase) {
  return fmt::format("{}{}{} {}", value, kReader, reader.name, to_string(phase));
}

MessageNames::MessageNames(const Graph& graph, std::int64_t micro_batches)
    : graph_(graph), micro_batches_(micro_batches) {
  auto add = [&](const std::string& name) {
    values_.insert(name);
    values_.insert("d " + name);
  };
  for (const Tensor& tensor : graph.tensors) add(tensor.name);
  for (const Parameter& parameter : graph.parameters) {
    add(parameter.name);
    values_.insert("square_sums " + parameter.name);
  }
  for (const Operator& op : graph.operators)
    for (const Slot& slot : signature(graph, op).slots) add(op.name + "." + slot.name);
  values_.insert({"sum of loss", "sum of gradients"});
  for (const NamedTensor& output : graph.outputs) values_.insert("sum of output " + output.name);
}

Reason MessageNames::why_none(const std::string& name) const {
  if (values_.contains(name)) return std::nullopt;
  std::string_view value = name;
  if (std::size_t at = value.rfind(kReader); at != std::string_view::npos) {
    if (Reason reason = why_no_reader(name, value.substr(at + kReader.size()))) return reason;
    value = value.substr(0, at);
  }
  if (values_.contains(value)) return std::nullopt;
  if (std::size_t at = value.rfind('#'); at != std::string_view::npos) {
    if (Reason reason = why_no_part(name, value.substr(at + 1))) return reason;
    value = value.substr(0, at);
  }
  if (values_.contains(value)) return std::nullopt;
  auto near = closest(value, std::vector<std::string>(values_.begin(), values_.end()));
  return fmt::format("'message_order' names '{}', but the model '{}' has no '{}'; {}", name,
                     graph_.name, value,
                     near ? fmt::format("did you mean '{}'?", *near) : "remove the name");
}

Reason MessageNames::why_no_reader(const std::string& name, std::string_view reader) const {
  std::size_t space = reader.rfind(' ');
  std::string_view op = reader.substr(0, space);
  std::string_view phase = space == std::string_view::npos ? "" : reader.substr(space + 1);
  if (!is_phase(phase))
    return fmt::format(
        "'message_order' names '{}', which does not end with a phase, as in 'for {} forward'", name,
        op);
  if (find_operator(graph_, op) != nullptr) return std::nullopt;
  return fmt::format(
      "'message_order' names '{}', but the model '{}' has no operator '{}'; remove the name", name,
      graph_.name, op);
}

Reason MessageNames::why_no_part(const std::string& name, std::string_view part) const {
  std::int64_t number = -1;
  auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error == std::errc{} && end == part.data() + part.size() && number >= 0 &&
      number < micro_batches_ && micro_batches_ > 1)
    return std::nullopt;
  return fmt::format(
      "'message_order' names '{}', but '{}' is not one of the plan's {} micro-batches, which are "
      "counted from 0; remove the name",
      name, part, micro_batches_);
}

}  // namespace troika
