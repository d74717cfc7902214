// Redistributions that are collectives: finished where the needs as a whole make one.
#pragma once

#include <string>
#include <vector>

#include "lower/draft.h"

namespace troika {

struct ExchangeOptions {
  bool finished = false;  ///< The needs are met by finished pieces, else by the terms.
  const std::string& fragment;
};

/// Meets those needs that a reduction, a scattered reduction, a gathering or an all-to-all among
/// their devices meets; returns the others. The results become finished pieces.
std::vector<Placed> exchange(Draft& draft, Value& value, const std::vector<Placed>& needs,
                             const ExchangeOptions& options);

/// The same region with indices that count from the start of `outer`.
Region within(const Region& region, const Region& outer);

}  // namespace troika
