// y = x + b, with one b per index of dimension `dim` (1 for channels; -1 is the last dimension).
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Bias {
  static constexpr std::string_view kName = "bias";
  std::int64_t dim = -1;

  static void fields(auto& self, auto&& visit) { visit("dim", self.dim); }
  bool operator==(const Bias&) const = default;
};

Signature signature(const Bias& op, std::span<const TensorSpec> inputs);

}  // namespace troika
