// Shape and element type of a tensor, without its layout or memory.
#pragma once

#include <string>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace troika {

struct TensorSpec {
  Shape shape;
  DType dtype = DType::f32;

  Bytes bytes() const { return size_of(dtype) * shape.elements(); }
  bool operator==(const TensorSpec&) const = default;
};

/// "f32[8,10]"
inline std::string to_string(const TensorSpec& spec) {
  return std::string(to_string(spec.dtype)) + to_string(spec.shape);
}

}  // namespace troika
