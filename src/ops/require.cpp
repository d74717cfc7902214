#include "ops/require.h"

namespace troika {

void refuse(std::string_view op, const std::string& message) {
  throw Error(ErrorKind::usage, std::string(op) + " " + message);
}

void require_inputs(std::string_view op, std::span<const TensorSpec> inputs, std::size_t count) {
  require(inputs.size() == count, op, "takes ", static_cast<std::int64_t>(count), " inputs, not ",
          static_cast<std::int64_t>(inputs.size()));
}

}  // namespace troika
