// `troika bench`: how fast a training step is, and how fast devices exchange vectors.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_bench(CLI::App& parent, Context& context);

}  // namespace troika::cli
