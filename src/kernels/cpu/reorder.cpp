// Changes of layout. Our own loops, where there is one, compete with oneDNN's; timing decides.
#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/cpu/block_transpose.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/panel_product.h"
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

template <int Side>
TROIKA_VECTORIZED void transpose_squares(const float* from, float* to, std::int64_t squares) {
  for (std::int64_t at = 0; at < squares * Side * Side; at += Side * Side)
    transpose_square<Side>(from + at, Side, to + at, Side);
}

/// Between weights blocked i,o and o,i: the blocks stay where they are.
template <int Side>
Loop weight_squares(std::int64_t elements) {
  return [elements](const Launch& launch) {
    std::int64_t squares = elements / (Side * Side);
    int threads = elements < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, squares, 4, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t at = begin * Side * Side;
      transpose_squares<Side>(launch.at(0) + at, launch.at(1) + at, end - begin);
    });
  };
}

/// A matrix and its transpose, in strips of columns that become rows.
Loop transposed(std::int64_t rows, std::int64_t columns) {
  return [=](const Launch& launch) {
    int threads = rows * columns < kSmallLoop ? 1 : launch.threads;
    // Columns become rows, so threads write different rows of the result.
    for_shares(threads, columns, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += 64)
        dispatch_lanes(widest_vector(), [&]<int Side>(std::integral_constant<int, Side>) {
          transpose_matrix<Side>({launch.at(0) + at, columns, launch.at(1) + at * rows, rows}, rows,
                                 std::min<std::int64_t>(64, end - at));
        });
    });
  };
}

/// Reorders of our own, between the layouts that a training step changes most often. Returns
/// nothing for other pairs of layouts. Operands: from, to.
std::optional<Loop> block_reorder(const Reorder& op, const Shape& shape) {
  auto between = [&](Layout a, Layout b) {
    return (op.from == a && op.to == b) || (op.from == b && op.to == a);
  };
  if (between(Layout::weight_io16, Layout::weight_oi16))
    return weight_squares<16>(stored_elements(op.from, shape));
  if (between(Layout::weight_io8, Layout::weight_oi8))
    return weight_squares<8>(stored_elements(op.from, shape));
  if (op.from == Layout::plain && op.to == Layout::transposed)
    return transposed(shape[0], shape[1]);
  if (op.from == Layout::transposed && op.to == Layout::plain)
    return transposed(shape[1], shape[0]);
  return std::nullopt;
}

/// A matrix, plain or in panels.
struct MatrixPlaces {
  MatrixPlaces(Layout layout, const Shape& shape) : columns(shape.back()) {
    if (std::optional<PanelShape> panel = panels_of(layout)) panels.emplace(*panel, shape);
  }
  std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return panels ? panels->offset(row, column) : row * columns + column;
  }

  std::int64_t columns;
  std::optional<Panels> panels;
};

/// Element by element: slow, for pairs of layouts that kernels of this processor never need.
Loop any_panels(const Reorder& op, const Shape& shape) {
  MatrixPlaces from(op.from, shape), to(op.to, shape);
  std::int64_t rows = shape.elements() / shape.back(), stored = stored_elements(op.to, shape);
  return [=](const Launch& launch) {
    if (stored > rows * from.columns) std::fill_n(launch.at(1), stored, 0.0f);
    for_rows(launch.threads, rows, from.columns, [&](std::int64_t row) {
      for (std::int64_t column = 0; column < from.columns; ++column)
        launch.at(1)[to.offset(row, column)] = launch.at(0)[from.offset(row, column)];
    });
  };
}

/// Into the panels that products read on this processor.
Loop pack(const PanelShape& panel, const Shape& shape) {
  std::int64_t columns = shape.back(), rows = shape.elements() / columns;
  return [=](const Launch& launch) {
    SharedFactor factor = panel.turned ? SharedFactor{launch.at(0), 1, columns, columns, rows}
                                       : SharedFactor{launch.at(0), columns, 1, rows, columns};
    pack_panels(factor, launch.threads, launch.at(1));
  };
}

Loop panel_reorder(const Reorder& op, const Shape& shape) {
  std::optional<PanelShape> to = panels_of(op.to);
  bool is_packed = op.from == Layout::plain && to->vector == widest_vector();
  return is_packed ? pack(*to, shape) : any_panels(op, shape);
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
  if (panels_of(op.from) || panels_of(op.to))
    return {offer_loop(request, {.algorithm = "panels", .layouts = {op.from, op.to}},
                       panel_reorder(op, spec.shape))};
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
