// Which layouts a tensor may lie in.
#pragma once

#include <vector>

#include "tensor/layout.h"

namespace troika {

/// Plain, and for rank 4 the channel layouts.
std::vector<Layout> activation_layouts(const Shape& shape);
/// Plain, and every layout that a weight of this shape may be stored in.
std::vector<Layout> parameter_layouts(const Shape& shape);
/// Both of the above, each once.
std::vector<Layout> all_layouts(const Shape& shape);

}  // namespace troika
