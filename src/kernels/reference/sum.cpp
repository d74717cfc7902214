#include <algorithm>
#include <cstring>

#include "kernels/reference/reference.h"

namespace troika {

void run_reference(const Sum& op, const Arguments& a) {
  int y_slot = static_cast<int>(op.count);
  dispatch(a.spec(y_slot).dtype, [&]<class T>() {
    auto y = a.value<T>(y_slot);
    for (std::size_t i = 0; i < y.size(); ++i) {
      T sum = a.value<const T>(0)[i];
      for (int k = 1; k < y_slot; ++k) sum += a.value<const T>(k)[i];
      y[i] = op.copies > 1 ? static_cast<T>(sum / static_cast<T>(op.copies)) : sum;
    }
  });
}

void run_reference(const Reorder& op, const Arguments& a) {
  TROIKA_CHECK(op.from == Layout::plain && op.to == Layout::plain,
               "the reference kernels know plain layouts only");
  auto bytes = static_cast<std::size_t>(a.spec(0).bytes().count);
  std::memcpy(a.value<std::byte>(1).data(), a.value<const std::byte>(0).data(), bytes);
}

}  // namespace troika
