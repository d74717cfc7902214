// Tasks that put a tensor together from boxes of others.
#pragma once

#include <string>
#include <vector>

#include "lower/draft.h"

namespace troika {

/// A box of a buffer, and the box of the same size that it becomes a part of.
struct AssembledPart {
  BufferId buffer;
  Region from;  ///< With the buffer's own indices.
  Region to;    ///< With the indices of the result.
};

struct AssembleRequest {
  std::string fragment;
  std::string name;  ///< Of the task, and of the result where that is new.
  TensorSpec spec;
  DeviceId device;
  Category category = Category::activation;
  bool greatest = false;  ///< Where parts overlap: the greatest, else the sum.
  BufferId into{};        ///< As large as spec says; invalid: a new buffer.
};

/// Returns the buffer that holds the result. What no part covers is zero.
BufferId add_assemble(Draft& draft, const AssembleRequest& request,
                      const std::vector<AssembledPart>& parts);

}  // namespace troika
