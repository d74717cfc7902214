// Axes of operators that work along the dimensions of one tensor.
#pragma once

#include <string_view>
#include <vector>

#include "ops/signature.h"

namespace troika {

struct DimAxes {
  std::vector<Axis> axes;
  std::vector<DimMap> dims;  ///< One per dimension of the shape.
};

/// One axis per dimension, named by position: the first of kind sample, the others attribute.
DimAxes dim_axes(const Shape& shape);
/// The same without an axis for dimension `whole`, which every tile has in full.
DimAxes dim_axes_but(const Shape& shape, std::size_t whole);

/// The index of a dimension that may count from the end (-1 is the last); throws Error(usage) when
/// there is none.
std::size_t require_dim(std::string_view op, std::int64_t dim, const TensorSpec& x);

}  // namespace troika
