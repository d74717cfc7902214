// Names by which a plan's list of messages orders them. A message is named by what it is for, so
// that its name is the same on all devices, on any number of them, and after changes elsewhere:
//   d conv1.weight           a gradient of a parameter, or the bucket that begins with it
//   conv1.weight             a parameter, to those that do not update it
//   relu1 for conv2 forward  a tensor, to the phase that reads it; of the third micro-batch relu1#2
//   d relu1 for relu1 backward
//   sum of loss              over all devices
// Messages with one name are equally urgent.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace troika {

/// The name of a message that brings a value, such as "d relu1", to its reader.
std::string message_name(std::string_view value, const Operator& reader, Phase phase);

class MessageNames {
 public:
  /// Borrows the graph.
  MessageNames(const Graph& graph, std::int64_t micro_batches);

  /// Why no strategy for this graph has a message of this name, and what to do. Nothing if one may
  /// have. A training program sends more messages than others, all with names of its graph.
  [[nodiscard]] std::optional<std::string> why_none(const std::string& name) const;

 private:
  std::optional<std::string> why_no_reader(const std::string& name, std::string_view reader) const;
  std::optional<std::string> why_no_part(const std::string& name, std::string_view part) const;

  const Graph& graph_;
  const std::int64_t micro_batches_;
  std::set<std::string, std::less<>> values_;
};

}  // namespace troika
