// Each model at a size that tests train quickly, with every kind of its operators.
#pragma once

#include <string>

#include "zoo/zoo.h"

namespace troika::zoo {

/// Two samples of tokens below 20, with targets of this shape.
Samples tokens(std::int64_t sequence, const Shape& target);
/// Two images of five classes.
Samples images(const Shape& image);

/// A request for a small model with a batch of two samples. An unknown name is a Bug.
ModelRequest small_request(const std::string& name);

}  // namespace troika::zoo
