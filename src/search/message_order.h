// The order of messages of a finished plan, by how long each could wait without a longer step.
#pragma once

#include <variant>
#include <vector>

#include "lower/lower.h"

namespace troika {

struct MessageOrderOptions {
  /// The strategy stays as it is unless the period gets shorter by this part of it, 1 / 1000:
  /// predictions are not good enough for less.
  std::int64_t least_part = 1000;
  int rounds = 3;  ///< Orders that are simulated, one after the other, for each size of buckets.
  /// Sizes of buckets that are tried in addition to that of the strategy.
  std::vector<Bytes> buckets{{1 << 20},  {2 << 20},  {4 << 20}, {8 << 20},
                             {16 << 20}, {32 << 20}, {64 << 20}};
};

struct OrderedMessages {
  Sync given;  ///< Of the strategy.
  Sync sync;   ///< The strategy's, with the order and the size of buckets that were found.
  SimTime before{}, after{};  ///< The period of the loop. Never longer.
  int simulated = 0;          ///< Plans.

  bool operator==(const OrderedMessages&) const = default;
};

using MessageOrderResult = std::variant<OrderedMessages, MissingRows, Infeasible>;

/// Simulates the plan, ranks its messages by their slack (sim/message_slack.h), the least first,
/// and simulates the plan with that order, again and again; and the same with other sizes of
/// buckets. Keeps the first that gives the shortest period, with the beginning of its list only if
/// that is enough. Deterministic. Names of messages do not depend on devices, so devices of a class
/// stay in it. Missing rows may be those of another size of buckets.
[[nodiscard]] MessageOrderResult order_messages(const LowerRequest& request,
                                                const KernelTable& table,
                                                const MessageOrderOptions& options = {});

}  // namespace troika
