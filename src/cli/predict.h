// `troika predict`: classes of samples, or text, from a saved model.
#pragma once

#include "cli/verb.h"

namespace troika::cli {

Verb add_predict(CLI::App& parent, Context& context);

}  // namespace troika::cli
