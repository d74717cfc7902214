#include "kernels/reference/reference.h"

namespace troika {

void run_reference(const GateProjection& op, const Arguments& a) {
  run_reference(as_linear(op), a);
}

}  // namespace troika
