// Everything a user must know to put a model of the zoo into a run file.
#pragma once

#include <string>
#include <vector>

#include "train/progress.h"
#include "zoo/zoo.h"

namespace troika::cli {

struct ModelCard {
  std::string name;
  std::string description;
  std::int64_t parameters = 0;    ///< At its usual size.
  std::vector<Fact> inputs;       ///< That samples must have, by name: "f32[1,28,28]".
  std::vector<std::string> data;  ///< The kinds of data that feed it, as data.train writes them.
  std::vector<zoo::OptionHelp> options;
  std::string example;  ///< A run file.
};

/// Throws Error(usage) with a suggestion when there is no such model.
ModelCard make_model_card(const std::string& name);

/// Each parameter counts once, whichever graphs have it; running statistics do not.
std::int64_t count_parameters(const zoo::Model& model);

}  // namespace troika::cli
