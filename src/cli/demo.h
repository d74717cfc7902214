// `troika demo`: a run that needs no files, from nothing to a trained model.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_demo(CLI::App& parent, Context& context);

}  // namespace troika::cli
