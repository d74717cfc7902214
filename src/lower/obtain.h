// Brings what consumers need of a value to where they are.
#pragma once

#include <string>
#include <vector>

#include "lower/draft.h"

namespace troika {

/// One buffer per need, which holds just that region on that device with all terms combined: the
/// piece itself where it is there, else behind a collective where the needs as a whole make one,
/// else put together from local pieces and transfers. What was brought once is kept in the value
/// for whoever needs it next.
std::vector<BufferId> obtain(Draft& draft, Value& value, const std::vector<Placed>& needs,
                             const std::string& fragment);

/// Adds up terms that have the same pieces, each on its own device.
void merge_terms(Draft& draft, Value& value, const std::string& fragment);

}  // namespace troika
