// Checks of the inputs of an operator. A failed check throws Error(usage) that names the operator
// and the shapes.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tensor/tensor_spec.h"

namespace troika {

[[noreturn]] void refuse(std::string_view op, const std::string& message);
/// Throws Error(usage) unless there are exactly `count` inputs.
void require_inputs(std::string_view op, std::span<const TensorSpec> inputs, std::size_t count);

inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, std::int64_t number) { out += std::to_string(number); }
inline void append(std::string& out, const Shape& shape) { out += to_string(shape); }
inline void append(std::string& out, const TensorSpec& spec) { out += to_string(spec); }

/// Throws Error(usage) with the operator's name and the joined parts unless the condition holds.
template <class... Parts>
void require(bool condition, std::string_view op, const Parts&... parts) {
  if (condition) return;
  std::string message;
  (append(message, parts), ...);
  refuse(op, message);
}

/// The product of sizes, such as a number of operations. Throws Error(usage) if it has more than 60
/// bits, so that small multiples and sums of it do not overflow either.
std::int64_t checked_product(std::string_view op, std::initializer_list<std::int64_t> sizes);

}  // namespace troika
