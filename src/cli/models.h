// `troika models`: the zoo, or everything about one of its models.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_models(CLI::App& parent, Context& context);

}  // namespace troika::cli
