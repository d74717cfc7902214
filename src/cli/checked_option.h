// Options of the command line that take a number or one of a few words. A wrong value is refused
// in our own words; program.cpp puts the option's name in front of them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace CLI {
class Option;
}

namespace troika::cli {

struct WholeNumbers {
  std::int64_t least = 1;
  /// The message does not mention this default limit unless a number exceeds it.
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
};

/// "takes a whole number of at least 1, not 'two'". All three return the option.
CLI::Option* take_whole(CLI::Option* option, const WholeNumbers& allowed = {});

enum class Zero { allowed, refused };
/// "takes a number above 0, not '-1'".
CLI::Option* take_number(CLI::Option* option, Zero zero);

/// "takes 'reference' or 'cpu', not 'gpu'".
CLI::Option* take_word(CLI::Option* option, const std::vector<std::string>& words);

}  // namespace troika::cli
