// Each model at a size that tests can train in a moment, with every kind of its operators still
// there.
#pragma once

#include <string>

#include "zoo/zoo.h"

namespace troika::zoo {

/// Two samples of tokens below 20, with targets of this shape.
Samples tokens(std::int64_t sequence, const Shape& target);
/// Two images of five classes.
Samples images(const Shape& image);

/// Two samples a batch; the samples say what inputs look like. A name without a row is a bug.
ModelRequest small_request(const std::string& name);

}  // namespace troika::zoo
