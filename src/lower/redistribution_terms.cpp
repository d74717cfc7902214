// Terms of a sum: collected from the contributions, and added up where they lie alike.
#include <algorithm>
#include <numeric>

#include "lower/redistribution_stages.h"

namespace troika::redistribution {
namespace {

std::uint64_t key_of(const Held& held) { return PairMap::key(held.device, held.box); }

bool is_same_place(const Held& a, const Held& b) { return a.device == b.device && a.box == b.box; }

bool are_elementwise_alike(std::span<const Held> a, std::span<const Held> b) {
  return std::ranges::equal(a, b, is_same_place);
}

std::vector<std::uint64_t> sorted_keys(std::span<const Held> term) {
  std::vector<std::uint64_t> keys(term.size());
  std::ranges::transform(term, keys.begin(), key_of);
  std::ranges::sort(keys);
  return keys;
}

bool lie_alike(std::span<const Held> a, std::span<const Held> b) {
  if (a.size() != b.size()) return false;
  return are_elementwise_alike(a, b) || sorted_keys(a) == sorted_keys(b);
}

/// Does not depend on the order.
std::uint64_t hash_of(std::span<const Held> term) {
  std::uint64_t hash = term.size();
  for (const Held& held : term) {
    std::uint64_t mixed = key_of(held) * 0xD1342543DE82EF95u;
    hash += (mixed ^ mixed >> 29) * 0x9E3779B97F4A7C15u;
  }
  return hash;
}

/// Groups of terms, by term; numbered by their first term.
struct Groups {
  std::vector<std::int32_t> of_term;
  std::int32_t count = 0;
};

Groups group_alike(const Terms& terms) {
  Groups groups{.of_term = std::vector<std::int32_t>(terms.ends.size())};
  std::vector<std::int32_t> firsts;  // by group: its first term
  PairMap by_hash;
  by_hash.reserve(terms.ends.size());
  for (std::int32_t term = 0; term < terms.size(); ++term) {
    std::uint64_t hash = hash_of(terms[term]);
    // Groups that lie differently in spite of equal hashes stand behind each other.
    std::int32_t group = by_hash.find_or_add(hash, groups.count);
    while (group < groups.count && !lie_alike(terms[firsts[group]], terms[term]))
      group = by_hash.find_or_add(++hash, groups.count);
    if (group == groups.count) {
      firsts.push_back(term);
      ++groups.count;
    }
    groups.of_term[term] = group;
  }
  return groups;
}

/// Adds up buffers of one place, in their order, or pairwise where the order is fixed.
std::int32_t combine(Draft& draft, const Held& place, std::vector<std::int32_t> parts) {
  auto combined = [&](std::span<const std::int32_t> some) {
    for (std::int32_t part : some) draft.add_input(part, place.box);
    std::int32_t out = draft.add_buffer(PlacedBuffer::Kind::value, place.device, place.box);
    draft.add_step(draft.request.greatest ? Step::Kind::assemble : Step::Kind::sum, out, {});
    return out;
  };
  if (!draft.request.fixed_order || draft.request.greatest) return combined(parts);
  while (parts.size() > 1) {
    std::vector<std::int32_t> next;
    for (std::size_t at = 0; at + 1 < parts.size(); at += 2)
      next.push_back(combined(std::span(parts).subspan(at, 2)));
    if (parts.size() % 2 == 1) next.push_back(parts.back());
    parts = std::move(next);
  }
  return parts[0];
}

/// The buffers of a term in the order of another one that lies alike.
std::vector<std::int32_t> buffers_in_order(std::span<const Held> term,
                                           std::span<const Held> order) {
  std::vector<std::int32_t> buffers(term.size());
  if (are_elementwise_alike(term, order)) {
    std::ranges::transform(term, buffers.begin(), &Held::buffer);
    return buffers;
  }
  PairMap by_place;
  by_place.reserve(term.size());
  for (const Held& held : term) by_place.find_or_add(key_of(held), held.buffer);
  std::ranges::transform(order, buffers.begin(),
                         [&](const Held& held) { return *by_place.find(key_of(held)); });
  return buffers;
}

/// Adds up terms of one group, each element of the first on its device.
void merge_group(Draft& draft, const Terms& terms, std::span<const std::int32_t> group,
                 Terms& merged) {
  std::span<const Held> first = terms[group[0]];
  std::vector<std::vector<std::int32_t>> buffers;
  for (std::int32_t term : group) buffers.push_back(buffers_in_order(terms[term], first));
  for (std::size_t at = 0; at < first.size(); ++at) {
    std::vector<std::int32_t> parts(buffers.size());
    std::ranges::transform(buffers, parts.begin(), [at](const auto& term) { return term[at]; });
    merged.held.push_back(
        {first[at].device, first[at].box, combine(draft, first[at], std::move(parts))});
  }
}

Terms merge_groups(Draft& draft, const Terms& terms, const Groups& groups) {
  std::vector<std::int32_t> order(terms.ends.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t term) { return groups.of_term[term]; });
  Terms merged;
  for (auto begin = order.begin(); begin != order.end();) {
    auto end = std::find_if(begin, order.end(), [&](std::int32_t term) {
      return groups.of_term[term] != groups.of_term[*begin];
    });
    if (end - begin == 1)
      merged.held.insert(merged.held.end(), terms[*begin].begin(), terms[*begin].end());
    else
      merge_group(draft, terms, {begin, end}, merged);
    merged.close_term(terms.from[*begin]);
    begin = end;
  }
  return merged;
}

/// For a fixed order: what several operators contribute to one shard is added up first, because
/// which shards lie on one device depends on their number. Contributions of equally many terms have
/// them in the order of the shards. `runs`: how many terms each contribution has.
void merge_runs(Draft& draft, Terms& terms, std::vector<std::int32_t>& runs) {
  std::int32_t length = runs.empty() ? 0 : runs[0];
  if (runs.size() < 2 || std::ranges::count(runs, length) != std::ssize(runs)) return;
  Groups groups{.count = length};
  for (std::int32_t term = 0; term < terms.size(); ++term) {
    if (!lie_alike(terms[term], terms[term % length])) return;
    groups.of_term.push_back(term % length);
  }
  draft.begin_round();
  terms = merge_groups(draft, terms, groups);
  runs = {length};
}

/// Appends the terms of a contribution, whose first tile's buffer is `first`.
void append_terms(const RedistributionRequest& request, std::int32_t contribution,
                  std::int32_t first, Terms& terms) {
  const Contribution& from = request.from[contribution];
  std::vector<std::int32_t> ends(static_cast<std::size_t>(from.term_count) + 1);
  auto term_of = [&](std::size_t tile) { return from.terms.empty() ? 0 : from.terms[tile]; };
  for (std::size_t tile = 0; tile < from.tiles.size(); ++tile) ++ends[term_of(tile) + 1];
  auto begin = static_cast<std::int32_t>(terms.held.size());
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::int32_t> next = ends;
  terms.held.resize(terms.held.size() + from.tiles.size());
  for (std::size_t tile = 0; tile < from.tiles.size(); ++tile)
    terms.held[begin + next[term_of(tile)]++] = {from.tiles[tile].device, from.tiles[tile].box,
                                                 first + static_cast<std::int32_t>(tile)};
  for (std::int32_t term = 0; term < from.term_count; ++term) {
    if (ends[term] == ends[term + 1]) continue;
    terms.ends.push_back(begin + ends[term + 1]);
    terms.from.push_back(contribution);
  }
}

}  // namespace

void merge_terms(Draft& draft, Terms& terms) {
  if (terms.size() < 2) return;
  Groups groups = group_alike(terms);
  if (groups.count == terms.size()) return;
  draft.begin_round();
  terms = merge_groups(draft, terms, groups);
}

Terms collect_terms(Draft& draft) {
  Terms terms;
  std::vector<std::int32_t> runs;
  std::int32_t buffer = 0;
  for (std::int32_t at = 0; at < std::ssize(draft.request.from); ++at) {
    std::int32_t before = terms.size();
    append_terms(draft.request, at, buffer, terms);
    buffer += static_cast<std::int32_t>(draft.request.from[at].tiles.size());
    runs.push_back(terms.size() - before);
    if (!draft.request.merge_each) continue;
    draft.set_at_once();
    if (draft.request.fixed_order)
      merge_runs(draft, terms, runs);
    else
      merge_terms(draft, terms);
  }
  draft.set_reader(0);
  if (draft.request.fixed_order) merge_runs(draft, terms, runs);
  return terms;
}

}  // namespace troika::redistribution
