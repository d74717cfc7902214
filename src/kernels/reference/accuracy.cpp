#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {
namespace accuracy_reference {

enum Slots { kX, kTarget, kWeight, kCorrectSum };

template <class T>
void run(const Arguments& a) {
  auto target = a.value<const std::int32_t>(kTarget);
  auto weight = a.value<const T>(kWeight);
  auto classes = static_cast<std::size_t>(a.shape(kX).back());
  double correct = 0;
  for (std::size_t row = 0; row < target.size(); ++row) {
    auto logits = a.value<const T>(kX).subspan(row * classes, classes);
    auto largest = std::ranges::max_element(logits) - logits.begin();
    if (largest == target[row]) correct += weight[row];
  }
  a.value<double>(kCorrectSum)[0] = correct;
}

}  // namespace accuracy_reference

void run_reference(const Accuracy&, const Arguments& a) {
  using namespace accuracy_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(a); });
}

}  // namespace troika
