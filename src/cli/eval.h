// `troika eval`: loss and accuracy of a saved model.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_eval(CLI::App& parent, Context& context);

}  // namespace troika::cli
