#include "base/random.h"
#include "kernels/reference/reference.h"
#include "kernels/step_values.h"

namespace troika {
namespace dropout_reference {

enum Slots { kX, kScalars, kY };

/// The index in the global tensor of an element of the tile.
std::uint64_t global_element(const Dropout& op, const Arguments& a, std::int64_t element) {
  const Shape& tile = a.shape(kX);
  std::span<const std::int64_t> begin = a.position.subspan(1);
  // Takes the digits of `element` in the base of the tile, adds the begin, and puts them together
  // again in the base of the global extents.
  std::int64_t index = 0, stride = 1;
  for (std::size_t dim = tile.rank(); dim-- > 0; element /= tile[dim]) {
    index += (begin[dim] + element % tile[dim]) * stride;
    stride *= op.extents.empty() ? tile[dim] : op.extents[dim];
  }
  return static_cast<std::uint64_t>(index);
}

template <class T>
void run(const Dropout& op, const Arguments& a) {
  StepKey key = step_key(a.value<const double>(kScalars));
  RandomStream random{
      .key = key.seed, .stream = static_cast<std::uint64_t>(a.position[0]), .step = key.step};
  // The mask is a function of key and element, so both phases apply the same one.
  bool forward = a.phase() == Phase::forward;
  auto from = forward ? a.value<const T>(kX) : a.gradient<const T>(kY);
  auto to = forward ? a.value<T>(kY) : a.gradient<T>(kX);
  T scale = static_cast<T>(1 / (1 - op.rate));
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint64_t element = global_element(op, a, static_cast<std::int64_t>(i));
    to[i] = random.uniform(element) >= op.rate ? from[i] * scale : T{0};
  }
}

}  // namespace dropout_reference

void run_reference(const Dropout& op, const Arguments& a) {
  using namespace dropout_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
