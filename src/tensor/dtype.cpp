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
  }
  return "?";
}

DType parse_dtype(std::string_view text) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32}) {
    if (to_string(dtype) == text) return dtype;
  }
  throw Error(ErrorKind::usage,
              fmt::format("'{}' is not an element type; there are f32, f64 and i32", text));
}

}  // namespace troika
