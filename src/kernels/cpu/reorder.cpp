#include <cstring>

#include "kernels/cpu/block_reorder.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

Loop copy_loop(Bytes bytes) {
  return [bytes](const Launch& launch) {
    std::byte *from = launch.operands[0], *to = launch.operands[1];
    if (from == to) return;
    constexpr std::int64_t kGrain = 4096;
    bool streamed = bytes.count >= 4 * kStreamed && bytes.count % 4 == 0;
    int threads = bytes.count < 4 * kSmallLoop ? 1 : launch.threads;
    for_shares(threads, bytes.count, kGrain, [=](std::int64_t begin, std::int64_t end) {
      if (streamed)
        stream_copy(reinterpret_cast<float*>(to + begin), reinterpret_cast<float*>(from + begin),
                    (end - begin) / 4);
      else
        std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
      if (streamed) stream_end();
    });
  };
}

}  // namespace

Offers offers(const Reorder& op, const Request& request) {
  const TensorSpec& spec = request.spec(0);
  if (!fits(op.from, spec.shape) || !fits(op.to, spec.shape)) return {};
  if (op.from == op.to) {
    Candidate candidate{.algorithm = "copy", .layouts = {op.from, op.to}, .in_place = {{1, 0}}};
    return {
        offer_loop(request, candidate, copy_loop(stored_bytes(op.from, spec.shape, spec.dtype)))};
  }
  // oneDNN has no f64, and nothing keeps f64 or a 16-bit type in another layout than plain.
  if (size_of(spec.dtype) != Bytes{4}) return {};
  MemoryDesc from = describe(spec, op.from), to = describe(spec, op.to);
  Offers list;
  if (std::optional<Loop> loop = block_reorder(op, spec.shape))
    list.push_back(
        offer_loop(request, {.algorithm = "blocks", .layouts = {op.from, op.to}}, *loop));
  for (const Implementation& each : reorder_implementations(request.context.engine, from, to)) {
    Candidate candidate{.algorithm = "reorder", .layouts = {op.from, op.to}};
    list.push_back(offer_primitive(request, candidate, each,
                                   {{DNNL_ARG_FROM, 0, from}, {DNNL_ARG_TO, 1, to}}));
  }
  return list;
}

Offers copy_offers(const Request& request) {
  Bytes element = size_of(request.spec(0).dtype);
  Offer copy = offer_flat(request, {{1, 0}},
                          [element](std::int64_t count) { return copy_loop(element * count); });
  copy.candidate.algorithm = "copy";
  copy.candidate.flat = request.shape(0) == request.shape(1);
  return {copy};
}

}  // namespace troika
