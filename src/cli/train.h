// `troika train`: train what a run file says.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_train(CLI::App& parent, Context& context);

}  // namespace troika::cli
