// For tests: what a message brings, by the definition of its kind (collective/recipe.h).
#pragma once

#include <span>
#include <vector>

#include "collective/recipe.h"

namespace troika {

struct MessageRun {
  Collective kind = Collective::all_reduce;
  std::int64_t count = 0;
  std::vector<Range> blocks{};  ///< By member; empty where the kind has none.
  bool greatest = false;
  bool tree = false;  ///< Members are combined in pairs; there are a power of two of them.

  /// In a member's buffer.
  std::int64_t vectors() const { return kind == Collective::all_to_all ? 2 : 1; }
};

/// What a member's buffer has afterwards; not a number where that is unspecified. `handed`: the
/// members' buffers before. The members of a broadcast begin with the root.
std::vector<double> deliver(const MessageRun& call, std::span<const std::vector<double>> handed,
                            std::size_t member);

/// Elements that come to a member, as if each were sent by whoever has it.
std::int64_t count_received(const MessageRun& call, std::int64_t members, std::size_t member);

}  // namespace troika
