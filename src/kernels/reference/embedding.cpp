#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {
namespace embedding_reference {

enum Slots { kTokens, kWeight, kY };

template <class T>
void run(const Embedding& op, const Arguments& a) {
  auto tokens = a.value<const std::int32_t>(kTokens);
  auto width = static_cast<std::size_t>(op.width);
  // Other rows belong to other tiles of the vocabulary; here they count as zero.
  auto held = [&](std::int64_t row) { return row >= 0 && row < op.vocabulary; };
  if (a.phase() == Phase::forward) {
    auto w = a.value<const T>(kWeight);
    auto y = a.value<T>(kY);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::int64_t row = tokens[i] - a.position[0];
      for (std::size_t d = 0; d < width; ++d)
        y[i * width + d] = held(row) ? w[static_cast<std::size_t>(row) * width + d] : T{0};
    }
  } else {
    auto dy = a.gradient<const T>(kY);
    auto dw = a.gradient<T>(kWeight);
    // The gradient is dense: a token may occur many times or not at all.
    std::ranges::fill(dw, T{0});
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::int64_t row = tokens[i] - a.position[0];
      if (!held(row)) continue;
      for (std::size_t d = 0; d < width; ++d)
        dw[static_cast<std::size_t>(row) * width + d] += dy[i * width + d];
    }
  }
}

}  // namespace embedding_reference

void run_reference(const Embedding& op, const Arguments& a) {
  using namespace embedding_reference;
  dispatch(op.dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
