// Internal to redistribution: which of several holders of a box serves a need.
#pragma once

#include <vector>

#include "lower/redistribution_stages.h"

namespace troika::redistribution {

/// The nearest holder serves, and among equally near ones the one whose number is the need's
/// ordinal, wrapping around. Holders are indices into the held boxes of the terms.
class NearestHolder {
 public:
  NearestHolder(const Draft& draft, const Holders& holders) : draft_(draft), holders_(holders) {}

  /// `run`: the holders of one box of one term.
  std::int32_t find(std::span<const std::int32_t> run, const Need& need);

 private:
  struct Sorted {
    std::vector<std::int32_t> by_process, by_node;
  };

  std::int32_t device_of(std::int32_t id) const { return holders_.terms().held[id].device; }
  std::int32_t process_of(std::int32_t id) const { return draft_.process_of(device_of(id)); }
  std::int32_t node_of(std::int32_t id) const { return draft_.node_of(device_of(id)); }
  int distance(std::int32_t id, const Need& need) const;
  std::int32_t find_sorted(std::span<const std::int32_t> run, const Need& need);
  Sorted sort(std::span<const std::int32_t> run) const;

  const Draft& draft_;
  const Holders& holders_;
  PairMap known_;  // by the first of a run: index into sorted_
  std::vector<Sorted> sorted_;
};

}  // namespace troika::redistribution
