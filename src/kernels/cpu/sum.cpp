#include <algorithm>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

/// Adds in the order of the operands, like the reference; a piece that the nearest cache holds
/// takes all terms before it is written.
void add_terms(const Launch& launch, std::size_t terms, Range share, bool streamed) {
  alignas(64) float chunk[kStreamChunk];
  for (std::int64_t at = share.begin; at < share.end; at += kStreamChunk) {
    std::int64_t count = std::min(kStreamChunk, share.end - at);
    const float *a = launch.at(0) + at, *b = launch.at(1) + at;
    float *y = launch.at(terms) + at, *values = streamed || terms > 2 ? chunk : y;
    run_range(0, count, [=](std::int64_t i) { values[i] = a[i] + b[i]; });
    for (std::size_t term = 2; term < terms; ++term)
      run_range(0, count, [=, x = launch.at(term) + at](std::int64_t i) { values[i] += x[i]; });
    if (streamed)
      stream_copy(y, values, count);
    else if (values != y)
      std::copy_n(values, count, y);
  }
}

Loop sum_loop(std::size_t terms, std::int64_t count) {
  return [=](const Launch& launch) {
    bool in_place = launch.at(terms) == launch.at(0) || launch.at(terms) == launch.at(1),
         streamed = count >= kStreamed && !in_place;
    int threads = count < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, count, 64, [&](std::int64_t begin, std::int64_t end) {
      add_terms(launch, terms, {begin, end}, streamed);
      stream_end();
    });
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
