#include "ops/require.h"

namespace troika {

void refuse(std::string_view op, const std::string& message) {
  throw Error(ErrorKind::usage, std::string(op) + " " + message);
}

std::int64_t checked_product(std::string_view op, std::initializer_list<std::int64_t> sizes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  std::int64_t product = 1;
  for (std::int64_t size : sizes) {
    bool is_wide = __builtin_mul_overflow(product, size, &product);
    require(!is_wide && product <= kMost, op, "has sizes whose product is over 2^60");
  }
  return product;
}

void require_inputs(std::string_view op, std::span<const TensorSpec> inputs, std::size_t count) {
  require(inputs.size() == count, op, "takes ", static_cast<std::int64_t>(count), " inputs, not ",
          static_cast<std::int64_t>(inputs.size()));
}

}  // namespace troika
