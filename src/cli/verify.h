// troika verify: trains a few steps under several plans and says whether they agree.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_verify(CLI::App& parent, Context& context);

}  // namespace troika::cli
