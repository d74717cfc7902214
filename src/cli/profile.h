// `troika profile`: measures kernels or links into a cost file.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_profile(CLI::App& parent, Context& context);

}  // namespace troika::cli
