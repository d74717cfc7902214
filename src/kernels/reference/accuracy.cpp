#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace troika {
namespace accuracy_reference {

enum Slots { kX, kTarget, kWeight, kCorrectSum };

/// How many logits come before the target's; all of them if that is not a number.
template <class T>
std::int64_t rank_of(std::span<const T> logits, std::int32_t target) {
  const T own = logits[static_cast<std::size_t>(target)];
  if (std::isnan(own)) return static_cast<std::int64_t>(logits.size());
  // Ties go to the lower index, so that the rank does not depend on a sort.
  auto equal_before = std::ranges::count(logits.first(static_cast<std::size_t>(target)), own);
  return std::ranges::count_if(logits, [own](T logit) { return logit > own; }) + equal_before;
}

template <class T>
void run(const Accuracy& op, const Arguments& a) {
  auto target = a.value<const std::int32_t>(kTarget);
  auto weight = a.value<const T>(kWeight);
  auto classes = static_cast<std::size_t>(a.shape(kX).back());
  double correct = 0;
  for (std::size_t row = 0; row < target.size(); ++row) {
    auto logits = a.value<const T>(kX).subspan(row * classes, classes);
    if (rank_of<T>(logits, target[row]) < op.top) correct += weight[row];
  }
  a.value<double>(kCorrectSum)[0] = correct;
}

}  // namespace accuracy_reference

void run_reference(const Accuracy& op, const Arguments& a) {
  using namespace accuracy_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
