#include <cstring>

#include "kernels/reference/box_copy.h"
#include "kernels/reference/reference.h"
#include "ops/dim_axes.h"

namespace troika {
namespace slice_tensor_reference {

enum Slots { kX, kY };

}  // namespace slice_tensor_reference

void run_reference(const SliceTensor& op, const Arguments& a) {
  using namespace slice_tensor_reference;
  Region box = Region::whole(a.shape(kX));
  box.ranges[require_dim("slice", op.dim, a.spec(kX))] = {op.begin, op.end};
  if (a.phase() == Phase::forward)
    return copy_from_box(a.spec(kX), box, a.value<const std::byte>(kX).data(),
                         a.value<std::byte>(kY).data());
  std::byte* dx = a.gradient<std::byte>(kX).data();
  std::memset(dx, 0, static_cast<std::size_t>(a.spec(kX).bytes().count));
  copy_to_box(a.spec(kX), box, a.gradient<const std::byte>(kY).data(), dx);
}

}  // namespace troika
