// Element types, and the one place that turns a run-time type into a compile-time one.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace troika {

enum class DType { f32, f64, i32 };

constexpr Bytes size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {4};
    case DType::f64:
      return {8};
    case DType::i32:
      return {4};
  }
  return {0};
}

std::string_view to_string(DType dtype);
/// Throws Error(usage) naming the text and the types there are.
DType parse_dtype(std::string_view text);

/// Calls f.template operator()<float>() or <double>(): for code that computes.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return std::forward<F>(f).template operator()<float>();
    case DType::f64:
      return std::forward<F>(f).template operator()<double>();
    case DType::i32:
      break;
  }
  throw Bug("no computation in i32");
}

}  // namespace troika
