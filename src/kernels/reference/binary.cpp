#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {
namespace binary_reference {

enum Slots { kA, kB, kY };

/// For each element of y, the element of a possibly broadcast input.
class Broadcast {
 public:
  Broadcast(const Shape& input, const Shape& y) : y_(y) {
    auto strides = input.strides();
    for (std::size_t dim = 0; dim < input.rank(); ++dim) {
      std::size_t at = dim + y.rank() - input.rank();
      // Stride 0 in a stretched dimension: all elements of y along it read the same one, and
      // backward adds all of their gradients to it.
      strides_[at] = input[dim] == y[at] ? strides[dim] : 0;
    }
  }
  std::size_t operator()(std::int64_t element) const {
    std::int64_t offset = 0;
    for (std::size_t dim = y_.rank(); dim-- > 0;) {
      offset += element % y_[dim] * strides_[dim];
      element /= y_[dim];
    }
    return static_cast<std::size_t>(offset);
  }

 private:
  Shape y_;
  std::array<std::int64_t, kMaxRank> strides_{};
};

template <class T>
void forward(const Binary& op, const Arguments& a) {
  Broadcast at_a(a.shape(kA), a.shape(kY)), at_b(a.shape(kB), a.shape(kY));
  auto x = a.value<const T>(kA), z = a.value<const T>(kB);
  auto y = a.value<T>(kY);
  for (std::int64_t i = 0; i < a.shape(kY).elements(); ++i)
    y[i] = op.kind == BinaryKind::add ? x[at_a(i)] + z[at_b(i)] : x[at_a(i)] * z[at_b(i)];
}

template <class T>
void backward(const Binary& op, const Arguments& a, int wanted, int other) {
  Broadcast at_wanted(a.shape(wanted), a.shape(kY)), at_other(a.shape(other), a.shape(kY));
  auto dy = a.gradient<const T>(kY);
  auto out = a.gradient<T>(wanted);
  std::ranges::fill(out, T{0});
  if (op.kind == BinaryKind::add) {
    for (std::int64_t i = 0; i < a.shape(kY).elements(); ++i) out[at_wanted(i)] += dy[i];
  } else {
    auto factor = a.value<const T>(other);
    for (std::int64_t i = 0; i < a.shape(kY).elements(); ++i)
      out[at_wanted(i)] += dy[i] * factor[at_other(i)];
  }
}

}  // namespace binary_reference

void run_reference(const Binary& op, const Arguments& a) {
  using namespace binary_reference;
  dispatch(a.spec(kY).dtype, [&]<class T>() {
    if (a.phase() == Phase::forward) return forward<T>(op, a);
    bool first = a.phase() == Phase::backward_data;
    backward<T>(op, a, first ? kA : kB, first ? kB : kA);
  });
}

}  // namespace troika
