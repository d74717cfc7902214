#include "ops/dim_axes.h"

#include "ops/require.h"

namespace troika {

DimAxes dim_axes(const Shape& shape) { return dim_axes_but(shape, shape.rank()); }

DimAxes dim_axes_but(const Shape& shape, std::size_t whole) {
  DimAxes result;
  std::vector<Axis> all = leading_axes(shape, shape.rank());
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    // `all` has a name for the dropped dimension too, so that names follow the position in x.
    if (dim > 0) all[dim].kind = AxisKind::attribute;
    result.dims.push_back(dim == whole ? whole_dim() : along(static_cast<int>(result.axes.size())));
    if (dim != whole) result.axes.push_back(all[dim]);
  }
  return result;
}

std::size_t require_dim(std::string_view op, std::int64_t dim, const TensorSpec& x) {
  auto rank = static_cast<std::int64_t>(x.shape.rank());
  std::int64_t index = dim < 0 ? dim + rank : dim;
  require(index >= 0 && index < rank, op, "along dimension ", dim, " does not fit ", x);
  return static_cast<std::size_t>(index);
}

}  // namespace troika
