#include "comm/watched_operation.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace troika {
namespace {

bool has_root(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce ||
         kind == Collective::gather || kind == Collective::scatter;
}

}  // namespace

std::string describe_call(const Recipe& recipe, const Communicator::Elements& elements) {
  const CollectiveCall& call = recipe.call;
  std::uint64_t ranges = 0;
  for (const Range& range : call.ranges) {
    ranges = hash_text(fmt::format("{}-{} ", range.begin, range.end), ranges);
  }
  std::string root = has_root(call.kind) ? fmt::format(", root {}", call.root) : "";
  std::string segment = call.segment > 0 ? fmt::format(", segments of {}", call.segment) : "";
  std::string order = call.order == CombineOrder::tree ? ", tree order" : "";
  return fmt::format("{} of {} {} ({}, {}{}{}{}, {} members, ranges {:04x})", to_string(call.kind),
                     call.count, to_string(elements.dtype), to_string(elements.rule),
                     recipe.algorithm, root, segment, order, call.members, ranges & 0xffff);
}

}  // namespace troika
