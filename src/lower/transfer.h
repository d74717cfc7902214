// Redistributions that are no collective: boxes of pieces go where they are needed.
#pragma once

#include <vector>

#include "lower/exchange.h"

namespace troika {

/// Meets the needs out of what their devices have and of messages, in which each element comes to a
/// device at most once. The results become finished pieces.
void transfer(Draft& draft, Value& value, const std::vector<Placed>& needs,
              const ExchangeOptions& options);

}  // namespace troika
