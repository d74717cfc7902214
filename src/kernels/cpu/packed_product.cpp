// Loops, from the outermost: blocks of the depth, blocks of rows, blocks of columns (b is packed
// here), strips of a few rows, panels, and inside a tile the depth.
#include "kernels/cpu/packed_product.h"

#include <algorithm>

#include "kernels/cpu/product_tile.h"

namespace troika {
namespace {

/// A panel of this depth, 16 columns wide, fills a first-level cache of 32 KiB.
constexpr std::int64_t kDepthBlock = 512;
/// A packed block of b, in floats: half of the second-level cache. Processors with AVX2 alone have
/// 512 KiB or less, those with AVX-512 a MiB or more.
constexpr std::int64_t block_floats(int lanes) { return lanes == 16 ? 128 * 1024 : 64 * 1024; }
/// Rows of a that are packed at a time. A multiple of the rows of all tiles; b is packed again for
/// each.
constexpr std::int64_t kRowBlock = 1008;
/// Floats between rows of packed a, so that rows do not share cache sets.
constexpr std::int64_t kRowGap = 16;

constexpr std::int64_t tile_rows(int lanes) {
  return lanes == 16 ? TileShape<16>::kRows : TileShape<8>::kRows;
}

constexpr std::int64_t panel_columns(int lanes) {
  return lanes == 16 ? kPanelColumns<16> : kPanelColumns<8>;
}

std::int64_t in_units(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit; }

std::int64_t padded_to(std::int64_t count, std::int64_t unit) {
  return in_units(count, unit) * unit;
}

std::int64_t packed_row(std::int64_t depth) { return padded_to(depth, kRowGap) + kRowGap; }

/// Part of `count`, in whole units except for the last.
Range units_of_part(std::int64_t count, std::int64_t unit, int part, int parts) {
  Range units = part_of(in_units(count, unit), part, parts);
  return {std::min(units.begin * unit, count), std::min(units.end * unit, count)};
}

/// Rows of a against the panels of a packed block. Rows are the outer loop: a strip of a is at most
/// 8 rows of kDepthBlock floats, which stay in the first-level cache while the panels are read from
/// the second-level one.
template <int Lanes>
TROIKA_INLINE void multiply_strips(TileInput in, std::int64_t rows, TileOutput out,
                                   NextBlock& next) {
  const float* panels = in.panel;
  while (rows > 0) {
    std::int64_t height = rows_of_next_tile<Lanes>(rows);
    TileOutput tile = out;
    for (std::int64_t j = 0; j < out.columns; j += kPanelColumns<Lanes>) {
      in.panel = panels + j * in.depth;
      tile.columns = std::min(kPanelColumns<Lanes>, out.columns - j);
      next.fetch();
      multiply_tile_of<Lanes>(height, in, tile);
      tile.skip(0, kPanelColumns<Lanes>);
    }
    in.a += height * in.a_row;
    out.skip(height, 0);
    rows -= height;
  }
}

/// The blocks of one part of the result.
template <int Lanes>
class PartOfProduct {
 public:
  TROIKA_INLINE PartOfProduct(const ProductPlan& plan, const PackedProduct& product, int part,
                              float* work)
      : plan_(plan),
        p_(product),
        rows_(plan.rows_of(part)),
        columns_(plan.columns_of(part)),
        b_(work),
        a_(work + plan.block.depth * plan.block.columns) {}

  /// The depth is the outermost loop: c is read and written once per block of the depth, and every
  /// sum adds these blocks in ascending order.
  TROIKA_INLINE void run() const {
    for (std::int64_t k = 0; k < plan_.extent.depth; k += plan_.block.depth) {
      Range depth = block_at(k, plan_.extent.depth, plan_.block.depth);
      for (std::int64_t i = rows_.begin; i < rows_.end; i += plan_.block.rows)
        multiply_rows_of_a(depth, block_at(i, rows_.end, plan_.block.rows));
    }
  }

 private:
  static Range block_at(std::int64_t begin, std::int64_t end, std::int64_t length) {
    return {begin, std::min(begin + length, end)};
  }

  TROIKA_INLINE void multiply_rows_of_a(Range depth, Range rows) const {
    Factor a = part_from(p_.a, rows.begin, depth.begin);
    if (plan_.packs_a) {
      // Columns of a are contiguous, but tiles read rows: a is transposed into scratch.
      std::int64_t row = packed_row(depth.extent());
      transpose_matrix<Lanes>({a.first, a.column, a_, row}, depth.extent(), rows.extent());
      a = {a_, row, 1};
    }
    for (std::int64_t j = columns_.begin; j < columns_.end; j += plan_.block.columns) {
      Range columns = block_at(j, columns_.end, plan_.block.columns);
      pack_block<Lanes>(part_from(p_.b, depth.begin, j), depth.extent(), columns.extent(), b_);
      NextBlock next = block_after(depth, rows, columns);
      multiply_strips<Lanes>({a.first, a.row, b_, depth.extent()}, rows.extent(),
                             output(depth, rows, columns), next);
    }
  }

  /// The first block of the depth overwrites c, later ones add to it. Bias, residual and activation
  /// apply to finished sums, so only the last block has a tail.
  TileOutput output(Range depth, Range rows, Range columns) const {
    TileOutput out{.c = p_.c,
                   .c_row = p_.c_row,
                   .columns = columns.extent(),
                   .adds = depth.begin > 0,
                   .tail = depth.end == plan_.extent.depth ? p_.tail : ProductTail{}};
    out.skip(rows.begin, columns.begin);
    return out;
  }

  /// The block of b that is packed next; none after the last one, or if the same blocks come again.
  NextBlock block_after(Range depth, Range rows, Range columns) const {
    std::int64_t calls = in_units(rows.extent(), TileShape<Lanes>::kRows) *
                         in_units(columns.extent(), kPanelColumns<Lanes>);
    if (columns.end < columns_.end) {
      columns = block_at(columns.end, columns_.end, plan_.block.columns);
    } else {
      if (depth.end == plan_.extent.depth || rows.end < rows_.end) return {};
      columns = block_at(columns_.begin, columns_.end, plan_.block.columns);
      depth = block_at(depth.end, plan_.extent.depth, plan_.block.depth);
    }
    return {part_from(p_.b, depth.begin, columns.begin), depth.extent(), columns.extent(), calls};
  }

  const ProductPlan& plan_;
  const PackedProduct& p_;
  const Range rows_, columns_;
  float *const b_, *const a_;
};

}  // namespace

ProductPlan::ProductPlan(const ProductExtent& product, const ProductOptions& options)
    : extent(product), lanes(options.lanes), packs_a(options.turned_a) {
  // Nearly equal blocks of the depth rather than full ones and a short rest. Their length must not
  // depend on lanes or threads, because it fixes how a sum is rounded.
  std::int64_t unit = panel_columns(lanes), blocks = in_units(extent.depth, kDepthBlock);
  block.depth = padded_to(in_units(extent.depth, blocks), 8);
  block.rows = std::min(packs_a ? kRowBlock : extent.rows, extent.rows);
  divide(options.threads);
  // Blocks of columns have no influence on rounding, so they may follow the cache.
  std::int64_t most = std::max(unit, block_floats(lanes) / block.depth / unit * unit);
  block.columns = std::min(most, padded_to(in_units(extent.columns, column_parts), unit));
}

/// Chooses the division with the least work for the busiest thread. Work is counted in sums;
/// packing a number takes about as long as `lanes` sums.
void ProductPlan::divide(int threads) {
  std::int64_t best = 0;
  for (int each = 1; each <= threads; ++each) {
    // Each thread computes one part, so the two numbers of parts multiply to `threads`.
    if (threads % each != 0) continue;
    ProductPlan trial = *this;
    trial.row_parts = each, trial.column_parts = threads / each;
    std::int64_t rows = trial.rows_of(threads - 1).extent(),
                 columns = trial.columns_of(threads - 1).extent();
    for (int part = 0; part < threads; ++part) {
      rows = std::max(rows, trial.rows_of(part).extent());
      columns = std::max(columns, trial.columns_of(part).extent());
    }
    // b is packed again for each block of rows, a once.
    std::int64_t packed = columns * in_units(rows, block.rows) + (packs_a ? rows : 0);
    std::int64_t work = rows * columns + lanes * packed;
    if (best != 0 && work >= best) continue;
    best = work;
    row_parts = trial.row_parts, column_parts = trial.column_parts;
  }
}

Range ProductPlan::rows_of(int part) const {
  return units_of_part(extent.rows, tile_rows(lanes), part / column_parts, row_parts);
}

Range ProductPlan::columns_of(int part) const {
  return units_of_part(extent.columns, panel_columns(lanes), part % column_parts, column_parts);
}

std::int64_t ProductPlan::floats_per_part() const {
  std::int64_t a_floats = packs_a ? block.rows * packed_row(block.depth) : 0;
  return padded_to(block.columns * block.depth + a_floats, kRowGap);
}

void multiply_part(const ProductPlan& plan, const PackedProduct& product, int part, float* work) {
  dispatch_lanes(plan.lanes, [&]<int Lanes>(std::integral_constant<int, Lanes>) {
    PartOfProduct<Lanes>(plan, product, part, work).run();
  });
}

void multiply(const ProductPlan& plan, const PackedProduct& product, float* work) {
#pragma omp parallel for schedule(static, 1) num_threads(plan.parts())
  for (int part = 0; part < plan.parts(); ++part)
    multiply_part(plan, product, part, work + part * plan.floats_per_part());
}

}  // namespace troika
