// Shape and element type of a tensor, without its layout or memory.
#pragma once

#include <algorithm>
#include <string>

#include "base/hash.h"
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
/// The inverse of to_string. Throws Error if the text is not a type and a shape.
inline TensorSpec parse_tensor_spec(std::string_view text) {
  std::size_t bracket = std::min(text.find('['), text.size());
  return {parse_shape(text.substr(bracket)), parse_dtype(text.substr(0, bracket))};
}

/// Adds the spec to a hash.
inline std::uint64_t mix(std::uint64_t hash, const TensorSpec& spec) {
  hash = mix(hash, static_cast<std::uint64_t>(spec.dtype) << 32 | spec.shape.rank());
  for (std::int64_t extent : spec.shape) hash = mix(hash, static_cast<std::uint64_t>(extent));
  return hash;
}

}  // namespace troika
