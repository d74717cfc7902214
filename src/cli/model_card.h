// Describes a model of the zoo to a user who wants to train it.
#pragma once

#include <string>
#include <vector>

#include "train/progress.h"
#include "zoo/zoo.h"

namespace troika::cli {

struct ModelCard {
  std::string name;
  std::string description;
  std::int64_t parameters = 0;  ///< With default options.
  std::vector<Fact> inputs;     ///< Fields that samples must have, by name, such as "f32[1,28,28]".
  std::vector<std::string> data;  ///< The kinds of data that feed it, as data.train writes them.
  std::vector<zoo::OptionHelp> options;
  std::string example;  ///< A run file.
};

/// Throws Error(usage) with a suggestion when there is no such model.
ModelCard make_model_card(const std::string& name);

/// A parameter that several graphs share counts once. Running statistics do not count.
std::int64_t count_parameters(const zoo::Model& model);

}  // namespace troika::cli
