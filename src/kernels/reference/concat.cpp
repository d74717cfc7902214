#include "kernels/reference/box_copy.h"
#include "kernels/reference/reference.h"
#include "ops/dim_axes.h"

namespace troika {

void run_reference(const Concat& op, const Arguments& a) {
  std::vector<int> parts = a.signature().slots_of(Role::input);
  auto y = static_cast<int>(parts.size());
  std::size_t dim = require_dim("concat", op.dim, a.spec(y));
  Region box = Region::whole(a.shape(y));
  // The box moves along dim: each part begins where the one before ended.
  box.ranges[dim] = {0, 0};
  for (int x : parts) {
    box.ranges[dim] = {box[dim].end, box[dim].end + a.shape(x)[dim]};
    if (a.phase() == Phase::forward)
      copy_to_box(a.spec(y), box, a.value<const std::byte>(x).data(), a.value<std::byte>(y).data());
    else
      copy_from_box(a.spec(y), box, a.gradient<const std::byte>(y).data(),
                    a.gradient<std::byte>(x).data());
  }
}

}  // namespace troika
