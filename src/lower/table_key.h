// Keys of tables that know each answer once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace troika {

/// Everything that an answer depends on, as numbers.
using TableKey = std::vector<std::int64_t>;

struct TableKeyHash {
  std::size_t operator()(const TableKey& key) const {
    std::uint64_t hash = key.size();
    for (std::int64_t number : key) hash = mix(hash, static_cast<std::uint64_t>(number));
    return hash;
  }
};

}  // namespace troika
