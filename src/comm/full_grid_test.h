// Whether the tests run their full grids, as `make test-all` does, or small ones.
#pragma once

#include <cstdlib>
#include <string_view>

namespace troika {

inline bool full_grid() {
  const char* full = std::getenv("TROIKA_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

}  // namespace troika
