#include <algorithm>

#include "kernels/cpu/offers.h"

namespace troika {

Offers offers(const GateProjection& op, const Request& request) {
  Linear linear = as_linear(op);
  KernelKey key{linear, request.key.inputs, request.key.phase, {}};
  Offers list = offers(linear, Request(key, request.context));
  // The weight has three dimensions here, so its rows cannot be stored as those of a matrix.
  std::erase_if(list, [&](const Offer& offer) {
    for (std::size_t at = 0; at < request.operands.size(); ++at)
      if (!fits(offer.candidate.layouts[at], request.shape(at))) return true;
    return false;
  });
  return list;
}

}  // namespace troika
