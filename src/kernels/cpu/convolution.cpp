#include "kernels/cpu/convolution.h"

#include <algorithm>
#include <iterator>

#include "kernels/cpu/fft_convolution.h"
#include "kernels/cpu/flipped_convolution.h"
#include "kernels/cpu/library_convolution.h"
#include "kernels/cpu/winograd.h"

namespace troika {
namespace {

/// Kernels that share one idea, and with it the convolutions that they can do.
struct Family {
  std::string_view name;
  std::optional<std::string> (*why_not)(const Convolution&, const Request&);
  Offers (*offers)(const Convolution&, const Request&);
};

constexpr Family kFamilies[] = {
    {"direct", why_not_direct, direct_offers},
    {"flipped", why_not_flipped, flipped_offers},
    {"library winograd", why_not_library_winograd, library_winograd_offers},
    {"winograd", why_not_winograd, winograd_offers},
    {"fft", why_not_fft, fft_offers},
};

}  // namespace

Offers convolution_offers(const Convolution& convolution, const Request& request) {
  Offers list;
  for (const Family& family : kFamilies) {
    if (family.why_not(convolution, request)) continue;
    std::ranges::move(family.offers(convolution, request), std::back_inserter(list));
  }
  return list;
}

std::vector<DeclinedFamily> declined_families(const Convolution& convolution,
                                              const Request& request) {
  std::vector<DeclinedFamily> list;
  for (const Family& family : kFamilies) {
    if (std::optional<std::string> reason = family.why_not(convolution, request))
      list.push_back({std::string(family.name), std::move(*reason)});
  }
  std::ranges::move(unsafe_direct_kernels(convolution, request), std::back_inserter(list));
  return list;
}

}  // namespace troika
