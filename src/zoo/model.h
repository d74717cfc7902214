// What the zoo makes, and what it is told about the samples that a model will see.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace troika::zoo {

/// One named tensor of a sample, without the batch dimension: "input", "target", for some models
/// "length" and others.
struct Field {
  std::string name;
  TensorSpec spec;

  bool operator==(const Field&) const = default;
};

/// What a data set and the run say about the batch. Anything left out has the model's usual size,
/// as in its paper.
struct Samples {
  std::int64_t batch = 1;
  std::vector<Field> fields{};
  std::int64_t classes = 0;     ///< Of targets: classes, or the vocabulary. 0: the usual number.
  std::int64_t vocabulary = 0;  ///< Of the inputs, if targets have another. 0: the default.
  DType dtype = DType::f32;     ///< Of floating tensors, whatever the fields say.
  std::int64_t shards = 1;      ///< Parts of the batch that batch norm takes its statistics from.

  const Field* find(std::string_view name) const;
};

/// The option "loss" of a model that can predict numbers.
struct LossOption {
  static constexpr const char* kDefault = "squared";
  static constexpr const char* kHelp =
      "for targets that are numbers: \"squared\" or \"absolute\" error";
  std::string_view model;
  std::string_view value;
};

/// An input that no data set holds: the training fills it, the same way on any number of devices.
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

/// Graphs over one set of parameters, which are equal where their names are. Most models have one,
/// "train"; a GAN has "discriminator" and "generator", trained in turns. The fields of a sample for
/// which a graph has no input are not fed.
struct Model {
  std::string name;
  std::vector<NamedGraph> graphs;

  const Graph& train() const { return graphs.front().graph; }
};

}  // namespace troika::zoo
