// A strategy together with the text of its file.
#pragma once

#include <string>

#include "strategy/strategy.h"

namespace troika::internal {

struct Plan {
  Strategy strategy;
  std::string json;
};

}  // namespace troika::internal
