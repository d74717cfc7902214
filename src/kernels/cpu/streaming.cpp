#include "kernels/cpu/streaming.h"

#include "kernels/cpu/vector_lanes.h"

namespace troika {

bool stores_whole_lines() { return widest_vector() == 16; }

}  // namespace troika
