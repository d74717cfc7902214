#include "cost/link_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "machine/machine.h"

namespace troika {
namespace {

/// Zero bytes take no time, although the curve is constant below the smallest measured size.
SimTime work_time(const SizeCurve& times, double nanoseconds_per_byte, Bytes bytes) {
  if (bytes.count == 0 || times.empty()) return time_for(bytes, nanoseconds_per_byte);
  return {std::llround(times.at(bytes))};
}

}  // namespace

const LinkCost& LinkCosts::operator[](LinkKind kind) const { return of_kind(*this, kind); }

LinkCost& LinkCosts::operator[](LinkKind kind) { return of_kind(*this, kind); }

LinkCosts assumed_link_costs() {
  return {.process = {.alpha = 150, .beta = 0.1, .gamma = 0.05},
          .node = {.alpha = 500, .beta = 0.2, .gamma = 0.1},
          .network = {.alpha = 20'000, .beta = 0.8, .gamma = 0.1},
          .memory = {.copy = 0.1, .reduce = 0.1, .reduce_both = 0.1},
          .provenance = {.source = "assumed",
                         .machine = "any",
                         .method = "a recent processor, shared memory, 10 Gbit/s Ethernet"}};
}

SimTime time_for(Bytes bytes, double nanoseconds_per_byte) {
  return {std::llround(static_cast<double>(bytes.count) * nanoseconds_per_byte)};
}

SimTime message_time(const LinkCost& link, Bytes bytes) {
  if (!link.message_times.empty()) return {std::llround(link.message_times.at(bytes))};
  return {std::llround(link.alpha + static_cast<double>(bytes.count) * link.beta)};
}

SimTime overhead_of(const LinkCost& link) {
  return {std::llround(link.overhead.value_or(link.alpha * kAssumedOverheadShare))};
}

SimTime latency_of(const LinkCost& link) {
  // Measured times of small messages may lie below the fitted alpha.
  return std::max(SimTime{}, message_time(link, {}) - overhead_of(link));
}

SimTime combine_time(const LinkCost& link, Bytes bytes) {
  return work_time(link.combine_times, link.gamma, bytes);
}

SimTime copy_time(const MemoryCost& memory, Bytes bytes) {
  return work_time(memory.copy_times, memory.copy, bytes);
}

SimTime reduce_time(const MemoryCost& memory, Bytes bytes) {
  return work_time(memory.reduce_times, memory.reduce, bytes);
}

SimTime reduce_both_time(const MemoryCost& memory, Bytes bytes) {
  return work_time(memory.reduce_both_times, memory.reduce_both, bytes);
}

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::process:
      return "process";
    case LinkKind::node:
      return "node";
    case LinkKind::network:
      return "network";
  }
  throw Bug("no such kind of link");
}

}  // namespace troika
