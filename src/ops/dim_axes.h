// Axes of operators whose iteration space is the dimensions of one tensor.
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
/// The same without an axis for dimension `whole`, which is never split.
DimAxes dim_axes_but(const Shape& shape, std::size_t whole);

/// Returns the index of a dimension; negative ones count from the end. Throws Error(usage) if x has
/// no such dimension.
std::size_t require_dim(std::string_view op, std::int64_t dim, const TensorSpec& x);

}  // namespace troika
