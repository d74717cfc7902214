// Element types, and the dispatch from a run-time type to a compile-time type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace troika {

/// f16 and bf16 are for storage and messages only; no kernel computes in them.
enum class DType { f32, f64, i32, f16, bf16 };

constexpr Bytes size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {4};
    case DType::f64:
      return {8};
    case DType::i32:
      return {4};
    case DType::f16:
    case DType::bf16:
      return {2};
  }
  return {0};
}

std::string_view to_string(DType dtype);
/// Throws Error(usage) that names the text and the known types.
DType parse_dtype(std::string_view text);

/// Calls f.template operator()<float>() or <double>(). Throws a Bug for types without arithmetic.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return std::forward<F>(f).template operator()<float>();
    case DType::f64:
      return std::forward<F>(f).template operator()<double>();
    case DType::i32:
    case DType::f16:
    case DType::bf16:
      break;
  }
  throw Bug("no computation in " + std::string(to_string(dtype)));
}

}  // namespace troika
