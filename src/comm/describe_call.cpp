#include "comm/describe_call.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace troika {
namespace {

bool has_root(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce ||
         kind == Collective::gather || kind == Collective::scatter;
}

}  // namespace

std::string describe_call(const CollectiveCall& call, std::string_view algorithm,
                          const Communicator::Elements& elements) {
  std::uint64_t ranges = 0;
  for (const Range& range : call.ranges) {
    ranges = hash_text(fmt::format("{}-{} ", range.begin, range.end), ranges);
  }
  std::string root = has_root(call.kind) ? fmt::format(", root {}", call.root) : "";
  std::string segment = call.segment > 0 ? fmt::format(", segments of {}", call.segment) : "";
  std::string order = call.order == CombineOrder::tree ? ", tree order" : "";
  return fmt::format("{} of {} {} ({}, {}{}{}{}, {} members, ranges {:04x})", to_string(call.kind),
                     call.count, to_string(elements.dtype), to_string(elements.rule), algorithm,
                     root, segment, order, call.members, ranges & 0xffff);
}

}  // namespace troika
