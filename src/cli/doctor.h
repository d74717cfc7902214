// `troika doctor`: what this machine has and lacks, fit for a bug report.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_doctor(CLI::App& parent, Context& context);

}  // namespace troika::cli
