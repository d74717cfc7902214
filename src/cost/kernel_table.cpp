#include "cost/kernel_table.h"

#include "base/hash.h"

namespace troika {

const std::vector<Candidate>* KernelTable::find(const KernelKey& key) const {
  auto found = rows_.find(to_text(key));
  return found == rows_.end() ? nullptr : &found->second;
}

void KernelTable::insert(const KernelKey& key, std::vector<Candidate> candidates) {
  rows_[to_text(key)] = std::move(candidates);
}

std::uint64_t KernelTable::hash() const {
  std::uint64_t hash = hash_text("kernel table");
  for (const auto& [text, candidates] : rows_) {
    hash = hash_text(text, hash);
    for (const Candidate& candidate : candidates) {
      hash = hash_text(candidate.algorithm, hash);
      for (Layout layout : candidate.layouts) hash = hash_text(to_string(layout), hash);
    }
  }
  return hash;
}

}  // namespace troika
