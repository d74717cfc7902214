#include <cmath>

#include "kernels/reference/reference.h"
#include "ops/step_scalars.h"

namespace troika {

void run_reference(const Guard& op, const Arguments& a) {
  int control_slot = op.gradient ? 3 : 2;
  auto control = a.value<double>(control_slot);
  auto at = [&](Control which) -> double& { return control[static_cast<std::size_t>(which)]; };
  double loss_sum = a.value<const double>(0)[0], weight_sum = a.value<const double>(1)[0];
  double scale = weight_sum > 0 ? 1 / weight_sum : 0;  // a batch of padding alone moves nothing
  at(Control::loss) = loss_sum * scale;
  at(Control::weight_sum) = weight_sum;
  bool finite = std::isfinite(loss_sum);
  if (op.gradient) {
    // The sum is over unscaled gradients; the norm of the scaled ones is scale times as large.
    double norm = std::sqrt(a.value<const double>(2)[0]) * scale;
    at(Control::gradient_norm) = norm;
    finite = finite && std::isfinite(norm);
    if (op.clip_norm > 0 && norm > op.clip_norm) scale *= op.clip_norm / norm;
  }
  at(Control::gradient_scale) = scale;
  // Never set to 1 here: once cleared, all later steps are skipped until the host resets it.
  if (!finite) at(Control::ok) = 0;
}

void run_reference(const SquareSum& op, const Arguments& a) {
  dispatch(a.spec(0).dtype, [&]<class T>() {
    double sum = 0;
    for (T x : a.value<const T>(0)) sum += static_cast<double>(x) * static_cast<double>(x);
    a.value<double>(1)[0] = sum / static_cast<double>(op.copies);
  });
}

}  // namespace troika
