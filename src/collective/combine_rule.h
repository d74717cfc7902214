// The rule that combines the members' values of an element into one.
#pragma once

#include <string_view>

#include "base/error.h"

namespace troika {

/// A mean is the sum, divided once at the end.
enum class CombineRule { sum, mean, min, max };

constexpr std::string_view to_string(CombineRule rule) {
  switch (rule) {
    case CombineRule::sum:
      return "sum";
    case CombineRule::mean:
      return "mean";
    case CombineRule::min:
      return "min";
    case CombineRule::max:
      return "max";
  }
  throw Bug("unknown combine rule");
}

}  // namespace troika
