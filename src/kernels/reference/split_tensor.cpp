#include "kernels/reference/box_copy.h"
#include "kernels/reference/reference.h"
#include "ops/dim_axes.h"

namespace troika {
namespace split_tensor_reference {

constexpr int kX = 0;

}  // namespace split_tensor_reference

void run_reference(const SplitTensor& op, const Arguments& a) {
  using namespace split_tensor_reference;
  std::size_t dim = require_dim("split", op.dim, a.spec(kX));
  Region box = Region::whole(a.shape(kX));
  // The box moves along dim: each part begins where the one before ended.
  box.ranges[dim] = {0, 0};
  for (int y : a.signature().slots_of(Role::output)) {
    box.ranges[dim] = {box[dim].end, box[dim].end + a.shape(y)[dim]};
    if (a.phase() == Phase::forward)
      copy_from_box(a.spec(kX), box, a.value<const std::byte>(kX).data(),
                    a.value<std::byte>(y).data());
    else
      copy_to_box(a.spec(kX), box, a.gradient<const std::byte>(y).data(),
                  a.gradient<std::byte>(kX).data());
  }
}

}  // namespace troika
