// Options of the command line that take a number, refused in plain words.
#pragma once

#include <cstdint>
#include <limits>

namespace CLI {
class Option;
}

namespace troika::cli {

struct WholeNumbers {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int32_t>::max();  ///< This one is not told.
};

/// "'two' is not a whole number of at least 1". Returns the option.
CLI::Option* take_whole(CLI::Option* option, const WholeNumbers& allowed = {});

enum class Zero { allowed, refused };
/// "'-1' is not a number above 0". Returns the option.
CLI::Option* take_number(CLI::Option* option, Zero zero);

}  // namespace troika::cli
