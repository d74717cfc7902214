#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace troika {
namespace softmax_reference {

enum Slots { kX, kY };

template <class T>
void forward(std::span<const T> x, std::span<T> y) {
  // exp(x - largest) is at most 1, so nothing overflows.
  T largest = *std::ranges::max_element(x), sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += y[i] = std::exp(x[i] - largest);
  for (T& value : y) value /= sum;
}

/// dx[i] = sum over j of dy[j] * y[j] * ([i == j] - y[i]), which needs one dot product per row.
template <class T>
void backward(std::span<const T> y, std::span<const T> dy, std::span<T> dx) {
  T dot = 0;
  for (std::size_t i = 0; i < y.size(); ++i) dot += y[i] * dy[i];
  for (std::size_t i = 0; i < y.size(); ++i) dx[i] = y[i] * (dy[i] - dot);
}

}  // namespace softmax_reference

void run_reference(const Softmax&, const Arguments& a) {
  using namespace softmax_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() {
    auto width = static_cast<std::size_t>(a.shape(kX).back());
    auto count = static_cast<std::size_t>(a.shape(kX).elements());
    for (std::size_t at = 0; at < count; at += width) {
      auto row = [&](auto all) { return all.subspan(at, width); };
      if (a.phase() == Phase::forward)
        forward<T>(row(a.value<const T>(kX)), row(a.value<T>(kY)));
      else
        backward<T>(row(a.value<const T>(kY)), row(a.gradient<const T>(kY)),
                    row(a.gradient<T>(kX)));
    }
  });
}

}  // namespace troika
