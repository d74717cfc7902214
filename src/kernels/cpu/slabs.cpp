#include "kernels/cpu/slabs.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

/// In elements of four bytes.
struct Piece {
  std::size_t part;
  std::int64_t offset, length;
};

/// A cut inside a block would have to move lanes from one block to another.
bool cuts_fit(const Request& request, const SlabCopy& copy, std::int64_t block) {
  if (block == 1) return true;
  for (std::size_t at = 0; at < copy.parts.size(); ++at) {
    if (copy.begins[at] % block != 0 || request.shape(copy.parts[at])[copy.dim] % block != 0)
      return false;
  }
  return request.shape(copy.whole)[copy.dim] % block == 0;
}

Loop copy_loop(const SlabCopy& copy, std::vector<Piece> pieces, std::int64_t outer,
               std::int64_t stride) {
  return [=](const Launch& launch) {
    auto* whole = launch.at<std::uint32_t>(copy.whole);
    bool streamed = outer * stride >= kStreamed;
    for_rows(launch.threads, outer, stride, [&](std::int64_t row) {
      std::uint32_t* line = whole + row * stride;
      if (copy.clear) std::fill_n(line, stride, 0u);
      for (const Piece& piece : pieces) {
        auto* part = launch.at<std::uint32_t>(piece.part) + row * piece.length;
        std::uint32_t *inside = line + piece.offset, *from = copy.to_whole ? part : inside,
                      *to = copy.to_whole ? inside : part;
        // Streaming pays for long pieces only: partial lines at both ends are stored normally.
        if (streamed && piece.length >= 64 * kLineFloats)
          stream_copy(reinterpret_cast<float*>(to), reinterpret_cast<float*>(from), piece.length);
        else
          std::memcpy(to, from, static_cast<std::size_t>(piece.length) * 4);
      }
      if (streamed) stream_end();
    });
  };
}

}  // namespace

std::optional<Slabs> slabs_of(const Shape& shape, Layout layout, std::size_t dim) {
  if (layout == Layout::plain)
    return Slabs{shape.product(0, dim), shape.product(dim + 1, shape.rank())};
  if (shape.rank() != 4) return std::nullopt;
  std::int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  if (layout == Layout::channels_last) {
    const Slabs by_dim[] = {{1, h * w * c}, {n * h * w, 1}, {n, w * c}, {n * h, c}};
    return by_dim[dim];
  }
  if (layout != Layout::blocked16 && layout != Layout::blocked8) return std::nullopt;
  std::int64_t block = layout == Layout::blocked16 ? 16 : 8, blocks = (c + block - 1) / block;
  // By n, c, h and w. A slab of one channel is not contiguous here, but one of `block` channels is
  // block * unit elements.
  const Slabs by_dim[] = {{1, blocks * h * w * block},
                          {n, h * w, block},
                          {n * blocks, w * block},
                          {n * blocks * h, block}};
  return by_dim[dim];
}

Offers slab_copy_offers(const Request& request, const SlabCopy& copy) {
  const Shape& whole = request.shape(copy.whole);
  Offers list;
  for (Layout layout : activation_layouts(whole)) {
    std::optional<Slabs> slabs = slabs_of(whole, layout, copy.dim);
    if (!slabs || !cuts_fit(request, copy, slabs->block)) continue;
    std::vector<Piece> pieces;
    for (std::size_t at = 0; at < copy.parts.size(); ++at)
      pieces.push_back({copy.parts[at], copy.begins[at] * slabs->unit,
                        request.shape(copy.parts[at])[copy.dim] * slabs->unit});
    Candidate candidate{.algorithm = "copy",
                        .layouts = std::vector(request.operands.size(), layout)};
    list.push_back(offer_loop(
        request, candidate, copy_loop(copy, pieces, slabs->outer, whole[copy.dim] * slabs->unit)));
  }
  return list;
}

}  // namespace troika
