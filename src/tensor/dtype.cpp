#include "tensor/dtype.h"

#include <fmt/format.h>

namespace troika {

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
  }
  return "?";
}

DType parse_dtype(std::string_view text) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::f16, DType::bf16}) {
    if (to_string(dtype) == text) return dtype;
  }
  throw Error(
      ErrorKind::usage,
      fmt::format("'{}' is not an element type; there are f32, f64, i32, f16 and bf16", text));
}

}  // namespace troika
