// Smaller keys of the same kind, on which a kernel can be compared with the slow reference.
#pragma once

#include <vector>

#include "taskgraph/kernel_key.h"

namespace troika {

/// The key itself first, then ever smaller ones with the same operators, attributes and phase.
/// Extents shrink to others with the same remainder by 64, then by 32 and by 16 (the lanes of a
/// vector and blocks of a few), the sides of images also by their stride; samples shrink to two or
/// three. Equal extents stay equal, and those that the operator cannot change stay. Keys of one
/// kind thus often end in the same smallest key.
std::vector<KernelKey> smaller_keys(const KernelKey& key);

}  // namespace troika
