// Ready models by name. A run file's [model] section and a data set's fields are all that is needed
// to make one.
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
  std::string description;  ///< One line, for people.
  std::vector<OptionHelp> options;
  std::function<Model(const ModelRequest&)> build;
  bool sees_whole_sequence = false;
};

/// All models, in the order in which they are shown.
std::span<const Entry> entries();

/// The model of that name; throws Error(usage) with a suggestion when there is none.
const Entry& find(std::string_view name);

/// Whether each output of the model sees all tokens of a sequence, so that tokens it is to predict
/// must be masked in its input. False for a name that is not known.
bool sees_whole_sequence(std::string_view name);

/// The model with its training graphs, verified. Throws Error(usage) when the name or an option is
/// not known (with a suggestion), or does not fit the samples.
///   build({.name = "resnet50", .options = {{"width", 0.25}}, .samples = {.batch = 8, .classes =
///   10}})
Model build(const ModelRequest& request);

}  // namespace troika::zoo
