#include "ops/reshape.h"

#include <algorithm>
#include <numeric>

#include "ops/require.h"

namespace troika {
namespace {

/// The output's shape with 0 and -1 filled in.
Shape resolve(const Reshape& op, const TensorSpec& x) {
  require(op.shape.size() <= kMaxRank && std::ranges::count(op.shape, -1) <= 1, "reshape",
          "needs a shape of at most 8 extents with at most one -1");
  Shape y;
  std::int64_t known = 1;
  for (std::size_t dim = 0; dim < op.shape.size(); ++dim) {
    std::int64_t extent = op.shape[dim];
    require(extent >= -1 && (extent != 0 || dim < x.shape.rank()), "reshape",
            "cannot use the extent ", extent, " for dimension ", static_cast<std::int64_t>(dim),
            " for ", x);
    y.push_back(extent == 0 ? x.shape[dim] : extent);
    if (extent != -1) known = checked_product("reshape", {known, y.back()});
  }
  for (std::int64_t& extent : std::span(&y[0], y.rank())) {
    if (extent == -1) extent = known == 0 ? 0 : x.shape.elements() / known;
  }
  require(y.elements() == x.shape.elements(), "reshape", "cannot give ", x, " the shape ", y);
  return y;
}

/// Dimensions [x_begin, x_end) of x hold the same elements as [y_begin, y_end) of y.
struct Group {
  std::size_t x_begin, x_end, y_begin, y_end;
};

/// Returns the smallest groups, outermost first. Both shapes have the same, positive number of
/// elements, so the inner loop ends at the latest with all dimensions of both.
std::vector<Group> groups_of(const Shape& x, const Shape& y) {
  std::vector<Group> groups;
  std::size_t i = 0, j = 0;
  while (i < x.rank() && j < y.rank()) {
    Group group{i, i + 1, j, j + 1};
    auto in = [&] { return x.product(group.x_begin, group.x_end); };
    auto out = [&] { return y.product(group.y_begin, group.y_end); };
    // The side with the smaller product takes its next dimension until both are equal.
    while (in() != out()) ++(in() < out() ? group.x_end : group.y_end);
    groups.push_back(group);
    i = group.x_end, j = group.y_end;
  }
  return groups;  // The dimensions left over have extent 1.
}

/// The first dimension of [begin, end) that is not 1, or begin.
std::size_t outermost(const Shape& shape, std::size_t begin, std::size_t end) {
  for (std::size_t dim = begin; dim < end; ++dim) {
    if (shape[dim] != 1) return dim;
  }
  return begin;
}

}  // namespace

Signature signature(const Reshape& op, std::span<const TensorSpec> inputs) {
  require_inputs("reshape", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.elements() > 0, "reshape", "takes a tensor with elements, not ", inputs[0]);
  Shape y = resolve(op, inputs[0]);
  std::vector<Group> groups = groups_of(x, y);

  Signature s{.axes = leading_axes(x, groups.size())};
  std::vector<DimMap> x_dims(x.rank()), y_dims(y.rank());
  for (std::size_t at = 0; at < groups.size(); ++at) {
    // Row-major order: equal parts of the outermost dimension are equal contiguous parts of the
    // group. With g = gcd of both extents, part k of g is the same range of elements in x and in y.
    // Leading ones are skipped, because their gcd would always be 1.
    std::size_t i = outermost(x, groups[at].x_begin, groups[at].x_end);
    std::size_t j = outermost(y, groups[at].y_begin, groups[at].y_end);
    s.axes[at].extent = std::gcd(x[i], y[j]);
    s.axes[at].kind = at == 0 ? AxisKind::sample : AxisKind::attribute;
    x_dims[i] = scaled(static_cast<int>(at), x[i] / s.axes[at].extent);
    y_dims[j] = scaled(static_cast<int>(at), y[j] / s.axes[at].extent);
  }
  s.slots = {{Role::input, "x", inputs[0], x_dims},
             {Role::output, "y", {y, inputs[0].dtype}, y_dims}};
  s.phases = {{.phase = Phase::forward, .uses = {read(0), write(1)}, .view = true},
              {.phase = Phase::backward_data, .uses = {read_grad(1), write_grad(0)}, .view = true}};
  return s;
}

Reshape localize(const Reshape&, const Signature& signature, const Region& tile) {
  // The tile gets explicit extents: 0 and -1 could mean something else for its smaller x.
  Shape y = region_of(signature.slots[1], tile).shape();
  return {.shape = {y.begin(), y.end()}};
}

}  // namespace troika
