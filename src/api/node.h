// The description behind a public nn::Module: how to add its operators to a graph.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "graph/builder.h"
#include "zoo/zoo.h"

namespace troika::internal {

/// The graph that a module is added to, and its name there.
struct Place {
  GraphBuilder& builder;
  const zoo::Samples& samples;
  /// The name of its operator, or the prefix of the names inside. Empty for the whole network.
  std::string name;

  Place inside(const std::string& part) const {
    return {builder, samples, name.empty() ? part : name + "." + part};
  }
};

struct Node {
  std::string kind;    ///< Names modules that have no name: conv1, conv2.
  std::string name{};  ///< Given by the user; may be empty.
  std::function<TensorId(const Place&, TensorId)> apply{};
  bool is_sequence = false;                ///< Its parts have names of their own.
  std::optional<zoo::ModelRequest> zoo{};  ///< A whole model instead of a layer.
};

}  // namespace troika::internal
