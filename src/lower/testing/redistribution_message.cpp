#include "lower/testing/redistribution_message.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.h"

namespace troika {
namespace {

using Handed = std::span<const std::vector<double>>;

double combine(const MessageRun& call, Handed handed, std::int64_t at) {
  if (handed.size() == 1) return handed[0][at];
  TROIKA_CHECK(!call.tree || std::has_single_bit(handed.size()));
  std::size_t first = call.tree ? handed.size() / 2 : handed.size() - 1;
  double a = combine(call, handed.first(first), at);
  double b = combine(call, handed.subspan(first), at);
  return call.greatest ? std::max(a, b) : a + b;
}

}  // namespace

std::vector<double> deliver(const MessageRun& call, Handed handed, std::size_t member) {
  if (call.kind == Collective::broadcast) return handed[0];
  std::vector<double> got(call.vectors() * call.count, std::numeric_limits<double>::quiet_NaN());
  if (call.kind == Collective::all_reduce || call.kind == Collective::reduce_scatter) {
    Range own = call.blocks.empty() ? Range{0, call.count} : call.blocks[member];
    for (std::int64_t i = own.begin; i < own.end; ++i) got[i] = combine(call, handed, i);
    return got;
  }
  bool trades = call.kind == Collective::all_to_all;
  TROIKA_CHECK(trades || call.kind == Collective::all_gather);
  for (std::size_t from = 0; from < handed.size(); ++from) {
    Range to = call.blocks[from], sent = trades ? call.blocks[member] : to;
    std::copy_n(handed[from].begin() + sent.begin, sent.extent(),
                got.begin() + to.begin + (trades ? call.count : 0));
  }
  return got;
}

std::int64_t count_received(const MessageRun& call, std::int64_t members, std::size_t member) {
  Range own = call.blocks.empty() ? Range{0, call.count} : call.blocks[member];
  if (call.kind == Collective::broadcast) return member == 0 ? 0 : call.count;
  if (call.kind == Collective::all_gather) return call.count - own.extent();
  return (members - 1) * own.extent();
}

}  // namespace troika
