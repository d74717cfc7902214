#include "kernels/cpu/vector_lanes.h"

#include <algorithm>

#include "kernels/cpu/dnnl_api.h"

namespace troika {

int widest_vector() {
  static const int lanes = std::max(8, allowed_lanes());
  return lanes;
}

}  // namespace troika
