// `troika config`: check, show and make run files.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_config(CLI::App& parent, Context& context);

}  // namespace troika::cli
