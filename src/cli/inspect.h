// `troika inspect`: what a file or folder is and what is in it.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_inspect(CLI::App& parent, Context& context);

}  // namespace troika::cli
