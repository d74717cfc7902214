#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

/// Adds in the order of the operands, like the reference; the first two share a pass.
Loop sum_loop(std::size_t terms, std::int64_t count) {
  return [=](const Launch& launch) {
    float* y = launch.at(terms);
    const float *a = launch.at(0), *b = launch.at(1);
    for_elements(launch.threads, count, [=](std::int64_t i) { y[i] = a[i] + b[i]; });
    for (std::size_t term = 2; term < terms; ++term) {
      const float* x = launch.at(term);
      for_elements(launch.threads, count, [=](std::int64_t i) { y[i] += x[i]; });
    }
  };
}

}  // namespace

Offers offers(const Sum& op, const Request& request) {
  if (op.count < 2) return copy_offers(request);
  int y = static_cast<int>(op.count);
  return {offer_flat(request, {{y, 0}, {y, 1}}, [y](std::int64_t count) {
    return sum_loop(static_cast<std::size_t>(y), count);
  })};
}

}  // namespace troika
