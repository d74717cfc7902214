// A model of the zoo, and the description of the samples from which its sizes follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace troika::zoo {

/// One named tensor of a sample, without the batch dimension, such as "input" or "target".
struct Field {
  std::string name;
  TensorSpec spec;

  bool operator==(const Field&) const = default;
};

/// Batch and samples, as the data set and the run define them. Anything left out has the default of
/// the model, which is that of its paper.
struct Samples {
  std::int64_t batch = 1;
  std::vector<Field> fields{};
  std::int64_t classes = 0;     ///< Classes or vocabulary of the targets. 0: the default.
  std::int64_t vocabulary = 0;  ///< Vocabulary of the inputs, if another one. 0: the default.
  DType dtype = DType::f32;     ///< Type of floating-point tensors; replaces that of the fields.
  std::int64_t shards = 1;      ///< Parts of the batch with statistics of their own in batch norm.

  const Field* find(std::string_view name) const;
};

/// The option "loss" of a model for classification or regression.
struct LossOption {
  static constexpr const char* kDefault = "squared";
  static constexpr const char* kHelp =
      "for targets that are numbers: \"squared\" or \"absolute\" error";
  std::string_view model;
  std::string_view value;
};

/// An input that is generated and not read from the data set. Its values do not depend on the
/// number of devices.
struct Feed {
  enum class Kind {
    columns,  ///< `values`, the same in every sample.
    normal,   ///< Standard normal, a function of (seed, step, name, global element).
  };
  std::string input;
  Kind kind = Kind::columns;
  std::vector<double> values{};

  bool operator==(const Feed&) const = default;
};

struct NamedGraph {
  std::string name;
  Graph graph;
  std::vector<Feed> feeds{};
};

/// Graphs over one set of parameters; parameters of the same name are the same. Most models have
/// one graph, "train"; a GAN has "discriminator" and "generator", trained in turns. A graph ignores
/// the fields of a sample for which it has no input.
struct Model {
  std::string name;
  std::vector<NamedGraph> graphs;

  const Graph& train() const { return graphs.front().graph; }
};

}  // namespace troika::zoo
