#include "kernels/cpu/box.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

template <class F>
void with_function(BinaryKind kind, F&& f) {
  switch (kind) {
    case BinaryKind::add:
      return f([](float a, float b) { return a + b; });
    case BinaryKind::multiply:
      return f([](float a, float b) { return a * b; });
  }
}

/// All operands in one layout; which is which does not matter, for both functions commute.
Loop equal_shapes(BinaryKind kind, std::int64_t count) {
  Loop loop;
  with_function(kind, [&](auto function) {
    loop = [=](const Launch& launch) {
      const float *a = launch.at(0), *b = launch.at(1);
      float* y = launch.at(2);
      for_outputs(launch.threads, count, y, y == a || y == b,
                  [=](std::int64_t i) { return function(a[i], b[i]); });
    };
  });
  return loop;
}

/// Row by row along the last dimension, where an operand either moves or stays at one element. At
/// least one of them moves, or the last dimension has one element.
Loop stretched_forward(BinaryKind kind, const Shape& a_shape, const Shape& b_shape,
                       const Shape& y_shape) {
  Strides a_strides = broadcast_strides(a_shape, y_shape),
          b_strides = broadcast_strides(b_shape, y_shape);
  Box<2> rows;
  std::size_t last = y_shape.rank() - 1;
  for (std::size_t dim = 0; dim < last; ++dim)
    rows.add(y_shape[dim], {a_strides[dim], b_strides[dim]});
  bool a_moves = a_strides[last] != 0, b_moves = b_strides[last] != 0;
  Loop loop;
  with_function(kind, [&](auto function) {
    loop = [=, length = y_shape.back()](const Launch& launch) {
      for_rows(launch.threads, rows.elements(), length, [&](std::int64_t row) {
        auto [at_a, at_b] = rows.offsets(row);
        const float *a = launch.at(0) + at_a, *b = launch.at(1) + at_b;
        float *y = launch.at(2) + row * length, a0 = *a, b0 = *b;
        if (a_moves && b_moves)
          return run_range(0, length, [=](std::int64_t i) { y[i] = function(a[i], b[i]); });
        if (a_moves)
          return run_range(0, length, [=](std::int64_t i) { y[i] = function(a[i], b0); });
        run_range(0, length, [=](std::int64_t i) { y[i] = function(a0, b[i]); });
      });
    };
  });
  return loop;
}

/// The gradient of an input that was stretched: sums over the stretched dimensions. Operands: dy,
/// the other input where the function multiplies, and the gradient wanted.
class StretchedBackward {
 public:
  StretchedBackward(BinaryKind kind, const Shape& wanted, const Shape& other, const Shape& y)
      : multiplies_(kind == BinaryKind::multiply), length_(y.back()) {
    Strides at_y = y.strides(), at_other = broadcast_strides(other, y),
            at_wanted = broadcast_strides(wanted, y);
    std::size_t last = y.rank() - 1;
    for (std::size_t dim = 0; dim < last; ++dim)
      (at_wanted[dim] != 0 ? kept_ : summed_)
          .add(y[dim], {at_y[dim], at_other[dim], at_wanted[dim]});
    keeps_last_ = at_wanted[last] != 0;
    other_moves_ = at_other[last] != 0;
  }

  void operator()(const Launch& launch) const {
    for_rows(launch.threads, kept_.elements(), summed_.elements() * length_, [&](std::int64_t row) {
      auto [at_y, at_other, at_wanted] = kept_.offsets(row);
      float* out = launch.at(multiplies_ ? 2 : 1) + at_wanted;
      double sum = 0;
      if (keeps_last_) run_range(0, length_, [out](std::int64_t i) { out[i] = 0; });
      for (std::int64_t term = 0; term < summed_.elements(); ++term) {
        auto [more_y, more_other, unused] = summed_.offsets(term);
        const float* dy = launch.at(0) + at_y + more_y;
        const float* factor = multiplies_ ? launch.at(1) + at_other + more_other : nullptr;
        if (keeps_last_)
          add_row(dy, factor, out);
        else
          sum += sum_row(dy, factor);
      }
      // The last dimension is summed too, so each row of kept_ gives one element.
      if (!keeps_last_) *out = static_cast<float>(sum);
    });
  }

 private:
  void add_row(const float* dy, const float* factor, float* out) const {
    if (factor == nullptr) return run_range(0, length_, [=](std::int64_t i) { out[i] += dy[i]; });
    if (other_moves_)
      return run_range(0, length_, [=](std::int64_t i) { out[i] += dy[i] * factor[i]; });
    run_range(0, length_, [=, by = *factor](std::int64_t i) { out[i] += dy[i] * by; });
  }
  double sum_row(const float* dy, const float* factor) const {
    if (factor == nullptr)
      return sum_range(0, length_, [=](std::int64_t i) { return static_cast<double>(dy[i]); });
    if (other_moves_)
      return sum_range(0, length_,
                       [=](std::int64_t i) { return static_cast<double>(dy[i]) * factor[i]; });
    return sum_range(0, length_, [=](std::int64_t i) { return static_cast<double>(dy[i]); }) *
           *factor;
  }

  bool multiplies_, keeps_last_ = false, other_moves_ = false;
  std::int64_t length_;
  Box<3> kept_, summed_;
};

}  // namespace

Offers offers(const Binary& op, const Request& request) {
  const Shape &a = request.key.inputs[0].shape, &b = request.key.inputs[1].shape;
  const Shape y = request.signature.slots[2].spec.shape;
  // Of equal shapes, the gradient of a product is a product too, and that of a sum is a view.
  if (a == b)
    return {offer_flat(request, {{2, 0}, {2, 1}},
                       [op](std::int64_t count) { return equal_shapes(op.kind, count); })};
  Candidate candidate{.algorithm = "broadcast",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  if (request.key.phase == Phase::forward)
    return {offer_loop(request, candidate, stretched_forward(op.kind, a, b, y))};
  bool of_a = request.key.phase == Phase::backward_data;
  return {
      offer_loop(request, candidate, StretchedBackward(op.kind, of_a ? a : b, of_a ? b : a, y))};
}

}  // namespace troika
