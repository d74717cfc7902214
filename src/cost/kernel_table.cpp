#include "cost/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace troika {

std::string to_text(const Candidate& candidate) {
  std::string text = candidate.algorithm;
  for (Layout layout : candidate.layouts) text += fmt::format(" {}", to_string(layout));
  return text;
}

void KernelRows::add_checks(const KernelChecks& checks) {
  for (const auto& [key, kernels] : checks)
    for (const auto& [kernel, fault] : kernels) checks_[key][kernel] = fault;
}

const std::vector<Candidate>* KernelRows::find(const KernelKey& key) const {
  auto [first, last] = row_at_.equal_range(troika::hash(key));
  for (; first != last; ++first)
    if (rows_[first->second].key == key) return &rows_[first->second].candidates;
  return nullptr;
}

void KernelRows::insert(const KernelKey& key, std::vector<Candidate> candidates) {
  auto [first, last] = row_at_.equal_range(troika::hash(key));
  for (; first != last; ++first)
    if (rows_[first->second].key == key)
      return void(rows_[first->second].candidates = std::move(candidates));
  row_at_.emplace(troika::hash(key), rows_.size());
  rows_.push_back({key, std::move(candidates)});
}

std::map<std::string, const KernelRows::Row*> KernelRows::rows_by_text() const {
  std::map<std::string, const Row*> rows;
  for (const Row& row : rows_) rows.emplace(to_text(row.key), &row);
  return rows;
}

// Ranks compare it (train/fingerprint.cpp), so it covers all fields that choices depend on.
std::uint64_t KernelRows::hash() const {
  std::uint64_t hash = hash_text("kernel table");
  for (const auto& [text, row] : rows_by_text()) {
    hash = hash_text(text, hash);
    for (const Candidate& candidate : row->candidates) {
      hash = hash_text(candidate.algorithm, hash);
      for (Layout layout : candidate.layouts) hash = hash_text(to_string(layout), hash);
      hash = hash_text(fmt::format(" {} {} {}", candidate.scratch.count, candidate.flat,
                                   candidate.time.value_or(SimTime{-1}).count),
                       hash);
      for (const InPlace& pair : candidate.in_place)
        hash = hash_text(fmt::format(" {}<{}", pair.write, pair.read), hash);
    }
  }
  return hash;
}

const std::vector<Candidate>* KernelTable::find(std::string_view kind, const KernelKey& key) const {
  auto rows = kinds_.find(kind);
  const std::vector<Candidate>* row = rows == kinds_.end() ? nullptr : rows->second.find(key);
  if (row != nullptr || !answer_) return row;
  KernelRequest missing{std::string(kind), key};
  KernelRows& own = kinds_[missing.kind];
  own.insert(key, answer_(missing));
  return own.find(key);
}

void KernelTable::insert(const KernelRequest& request, std::vector<Candidate> candidates) {
  kinds_[request.kind].insert(request.key, std::move(candidates));
}

std::size_t KernelTable::size() const {
  std::size_t total = 0;
  for (const auto& [kind, rows] : kinds_) total += rows.size();
  return total;
}

std::uint64_t KernelTable::hash() const {
  std::uint64_t hash = hash_text("kinds");
  for (const auto& [kind, rows] : kinds_) hash = mix(hash_text(kind, hash), rows.hash());
  return hash;
}

void reoccupy(const KernelKey& key, std::vector<Candidate>& candidates, const MemoryRates& rates,
              Occupancy to) {
  for (Candidate& candidate : candidates) {
    if (!candidate.time || !candidate.timing) continue;
    Reoccupation change{.from = candidate.timing->at, .to = to};
    candidate.time = reoccupied(*candidate.time, bytes_of(key), rates, change);
    candidate.timing->at = to;
  }
}

KernelRows reoccupied(const KernelRows& rows, Occupancy to) {
  KernelRows changed = rows;
  for (const KernelRows::Row& row : rows.rows()) {
    std::vector<Candidate> candidates = row.candidates;
    reoccupy(row.key, candidates, rows.memory_rates, to);
    changed.insert(row.key, std::move(candidates));
  }
  return changed;
}

bool take_times(const KernelRows& known, const KernelKey& key, std::vector<Candidate>& candidates) {
  const std::vector<Candidate>* timed = known.find(key);
  if (timed == nullptr) return false;
  bool complete = true;
  for (Candidate& candidate : candidates) {
    auto same = std::ranges::find_if(*timed, [&](const Candidate& other) {
      return other.algorithm == candidate.algorithm && other.layouts == candidate.layouts;
    });
    // Times left over from another table are removed, so that all times of a key have one origin.
    bool is_known = same != timed->end();
    candidate.time = is_known ? same->time : std::nullopt;
    candidate.timing = is_known ? same->timing : std::nullopt;
    complete = complete && candidate.time.has_value();
  }
  return complete;
}

}  // namespace troika
