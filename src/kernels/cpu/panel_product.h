// Matrix products with few rows that share one factor. It is packed once into panels of columns, as
// wide as the registers hold, which all products then read in order.
#pragma once

#include <cstdint>

#include "tensor/layout.h"

namespace troika {

/// The shared factor, depth x columns: (k, j) is first[k * row + j * column]. One of the two steps
/// is 1.
struct SharedFactor {
  const float* first;
  std::int64_t row, column;
  std::int64_t depth, columns;
};

/// Floats of the packed panels.
std::int64_t panel_floats(std::int64_t depth, std::int64_t columns);

/// The panels that products read on this processor, as layouts of a weight [gate, unit, k], whose
/// rows are gates and units.
struct PanelLayouts {
  Layout straight;  ///< The shared factor is the weight,
  Layout turned;    ///< or its transpose.
};
PanelLayouts panel_layouts();

void pack_panels(const SharedFactor& factor, int threads, float* panels);

/// c = a * factor or c += a * factor; a is rows x depth. Both are row-major.
struct PanelProduct {
  std::int64_t rows, depth, columns;
  const float* a = nullptr;
  std::int64_t a_row = 0;
  const float* panels = nullptr;
  float* c = nullptr;
  std::int64_t c_row = 0;
  bool adds = false;
};

void multiply(const PanelProduct& product, int threads);

}  // namespace troika
