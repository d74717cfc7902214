// Large matrix products (Goto and van de Geijn 2008, doi:10.1145/1356052.1356053; Van Zee and van
// de Geijn 2015, doi:10.1145/2764454). The second factor is packed block by block into panels as
// wide as the registers hold; a block stays in the second-level cache while all rows of the first
// factor are multiplied by it. Both factors may be plain or transposed.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cpu/lane_product.h"
#include "kernels/cpu/product_tile.h"
#include "tensor/region.h"

namespace troika {

/// Extents of c = a * b: a is rows x depth, b is depth x columns.
struct ProductExtent {
  std::int64_t rows, columns, depth;
};

struct ProductOptions {
  int lanes;              ///< Floats of a vector: 16 (AVX-512) or 8 (AVX2).
  int threads = 1;        ///< Threads that share the product.
  bool turned_a = false;  ///< The columns of a are contiguous, not its rows; a is then packed too.
};

/// How a product is cut into blocks and divided among threads. Made once per kernel.
struct ProductPlan {
  ProductPlan(const ProductExtent& product, const ProductOptions& options);

  int parts() const { return row_parts * column_parts; }
  Range rows_of(int part) const;
  Range columns_of(int part) const;
  /// Floats of scratch for each part.
  std::int64_t floats_per_part() const;

  ProductExtent extent;
  int lanes;
  bool packs_a;
  int row_parts = 1, column_parts = 1;  ///< The result is divided so, one part for each thread.
  ProductExtent block{};                ///< The most that is packed at a time.

 private:
  void divide(int threads);
};

/// Each number is summed along the depth in one fixed order, so the bits depend neither on the
/// number of threads nor on the lanes.
struct PackedProduct {
  Factor a, b;  ///< `row` or `column` of each is 1.
  float* c;
  std::int64_t c_row;
  ProductTail tail;
};

/// One part, on the calling thread. `work` holds floats_per_part().
void multiply_part(const ProductPlan& plan, const PackedProduct& product, int part, float* work);

/// All parts, each on a thread of its own. `work` holds floats_per_part() for each.
void multiply(const ProductPlan& plan, const PackedProduct& product, float* work);

}  // namespace troika
