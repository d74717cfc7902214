#include <cstring>

#include "kernels/reference/reference.h"

namespace troika {
namespace transpose_reference {

enum Slots { kX, kY };

}  // namespace transpose_reference

void run_reference(const Transpose& op, const Arguments& a) {
  using namespace transpose_reference;
  bool forward = a.phase() == Phase::forward;
  const std::byte* from =
      forward ? a.value<const std::byte>(kX).data() : a.gradient<const std::byte>(kY).data();
  std::byte* to = forward ? a.value<std::byte>(kY).data() : a.gradient<std::byte>(kX).data();
  auto size = static_cast<std::size_t>(size_of(a.spec(kX).dtype).count);
  const Shape& y = a.shape(kY);
  auto strides = a.shape(kX).strides();
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    // Element i of y is element j of x: the digits of i in the base of y, times the strides of the
    // dimensions of x that they come from. Backward copies the other way.
    std::int64_t rest = i, j = 0;
    for (std::size_t dim = y.rank(); dim-- > 0; rest /= y[dim])
      j += rest % y[dim] * strides[static_cast<std::size_t>(op.permutation[dim])];
    auto in_y = static_cast<std::size_t>(i) * size, in_x = static_cast<std::size_t>(j) * size;
    std::memcpy(to + (forward ? in_y : in_x), from + (forward ? in_x : in_y), size);
  }
}

}  // namespace troika
