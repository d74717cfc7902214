// What a public nn::Module refers to: how to add its operators to a graph.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "graph/builder.h"
#include "zoo/zoo.h"

namespace troika::internal {

/// Where a module is put.
struct Place {
  GraphBuilder& builder;
  const zoo::Samples& samples;
  std::string
      name;  ///< Of its operator, or in front of the names inside; empty for the whole network.

  Place inside(const std::string& part) const {
    return {builder, samples, name.empty() ? part : name + "." + part};
  }
};

struct Node {
  std::string kind;    ///< Modules without a name are called by it: conv1, conv2.
  std::string name{};  ///< Given by the user; may be empty.
  std::function<TensorId(const Place&, TensorId)> apply{};
  bool is_sequence = false;                ///< Its parts bring their own names.
  std::optional<zoo::ModelRequest> zoo{};  ///< A whole model instead of a layer.
};

}  // namespace troika::internal
