// Builds a model by name from the [model] section of a run file and the fields of a data set.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zoo/model.h"
#include "zoo/options.h"

namespace troika::zoo {

struct ModelRequest {
  std::string name;
  std::vector<Option> options{};
  Samples samples{};
};

/// One row of the list of models.
struct Entry {
  std::string name;
  std::string description;  ///< One line of help.
  std::vector<OptionHelp> options;
  std::function<Model(const ModelRequest&)> build;
  bool sees_whole_sequence = false;
};

/// All models, in the order of `troika models`.
std::span<const Entry> entries();

/// Throws Error(usage) with a suggestion if there is no such model.
const Entry& find(std::string_view name);

/// Returns whether each output of the model reads all tokens of a sequence, so that the tokens to
/// predict must be masked in its input. False for an unknown name.
bool sees_whole_sequence(std::string_view name);

/// Returns the model with its verified training graphs. Throws Error(usage) if the name or an
/// option is unknown, with a suggestion, or if the model does not fit the samples.
///   build({.name = "resnet50", .options = {{"width", 0.25}}, .samples = {.batch = 8, .classes =
///   10}})
Model build(const ModelRequest& request);

}  // namespace troika::zoo
