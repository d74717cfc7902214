// `troika bench comm`: how fast devices exchange vectors.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

/// Adds the subcommand `comm` to the verb bench.
Verb add_bench_comm(CLI::App& bench, Context& context);

}  // namespace troika::cli
