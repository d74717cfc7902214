#include "lower/obtain.h"

#include <algorithm>

#include "lower/assemble_task.h"
#include "lower/exchange.h"
#include "lower/transfer.h"

namespace troika {
namespace {

bool have_same_places(const std::vector<ValuePiece>& a, const std::vector<ValuePiece>& b) {
  auto is_in = [](const ValuePiece& piece, const std::vector<ValuePiece>& pieces) {
    return std::ranges::find(pieces, piece.place, &ValuePiece::place) != pieces.end();
  };
  return a.size() == b.size() &&
         std::ranges::all_of(a, [&](const ValuePiece& piece) { return is_in(piece, b); });
}

/// Needs that no finished piece answers, each once.
std::vector<Placed> open_needs(const Value& value, const std::vector<Placed>& needs) {
  std::vector<Placed> open;
  for (const Placed& need : needs) {
    bool known = find_finished(value, need).valid() || std::ranges::count(open, need) > 0;
    if (!known) open.push_back(need);
  }
  return open;
}

/// Those whose elements are finished somewhere, or those that are not. What no piece of a sum of
/// one covers is zero, and so finished too.
std::vector<Placed> select(const Value& value, const std::vector<Placed>& needs, bool finished) {
  std::vector<Placed> chosen;
  for (const Placed& need : needs)
    if ((value.terms.empty() || is_finished(value, need.region)) == finished)
      chosen.push_back(need);
  return chosen;
}

/// The greatest of each element of buffers on one device.
BufferId greatest_of(Draft& draft, const std::string& fragment, const std::string& name,
                     const std::vector<BufferId>& parts) {
  const BufferSpec first = draft.tasks[parts[0]];
  Region whole = Region::whole(first.spec.shape);
  std::vector<AssembledPart> all;
  for (BufferId part : parts) all.push_back({part, whole, whole});
  return add_assemble(draft,
                      {.fragment = fragment,
                       .name = name + " greatest",
                       .spec = first.spec,
                       .device = first.device,
                       .category = first.category,
                       .greatest = true},
                      all);
}

/// A sum of one is finished.
void finish(Value& value) {
  for (const ValuePiece& piece : value.terms[0])
    if (std::ranges::count(value.finished, piece) == 0) value.finished.push_back(piece);
  value.terms.clear();
}

void bring(Draft& draft, Value& value, const std::vector<Placed>& needs, bool finished,
           const std::string& fragment) {
  if (needs.empty()) return;
  std::vector<Placed> left = exchange(draft, value, needs, {finished, fragment});
  if (left.empty()) return;
  transfer(draft, value, left, {finished, fragment});
}

/// Terms that have the same pieces, as one.
std::vector<ValuePiece> merge(Draft& draft, const Value& value,
                              const std::vector<std::vector<ValuePiece>>& group,
                              const std::string& fragment) {
  std::vector<ValuePiece> merged = group[0];
  if (group.size() == 1) return merged;
  for (ValuePiece& piece : merged) {
    std::vector<BufferId> parts;
    for (const std::vector<ValuePiece>& term : group)
      parts.push_back(std::ranges::find(term, piece.place, &ValuePiece::place)->buffer);
    piece.buffer = value.combine == Combine::sum ? sum_of(draft, fragment, value.name, parts)
                                                 : greatest_of(draft, fragment, value.name, parts);
  }
  return merged;
}

/// For a fixed order: what several operators contribute to one shard is added up first, because
/// which shards lie on one device depends on their number. Contributions of equally many terms have
/// them in the order of the shards.
void merge_runs(Draft& draft, Value& value, const std::string& fragment) {
  std::size_t count = value.runs.size(), length = count > 0 ? value.runs[0] : 0;
  bool alike = std::ranges::count(value.runs, length) == std::ssize(value.runs) &&
               count * length == value.terms.size();
  if (count < 2 || !alike) return;
  for (std::size_t at = length; at < value.terms.size(); ++at)
    if (!have_same_places(value.terms[at], value.terms[at % length])) return;
  std::vector<std::vector<ValuePiece>> by_shard;
  for (std::size_t shard = 0; shard < length; ++shard) {
    std::vector<std::vector<ValuePiece>> group;
    for (std::size_t run = 0; run < count; ++run)
      group.push_back(value.terms[run * length + shard]);
    by_shard.push_back(merge(draft, value, group, fragment));
  }
  value.terms = std::move(by_shard);
}

}  // namespace

void merge_terms(Draft& draft, Value& value, const std::string& fragment) {
  if (draft.request.strategy->sync.fixed_order) merge_runs(draft, value, fragment);
  value.runs.clear();
  std::erase_if(value.terms, [](const std::vector<ValuePiece>& term) { return term.empty(); });
  std::vector<std::vector<std::vector<ValuePiece>>> groups;
  for (std::vector<ValuePiece>& term : value.terms) {
    auto same = std::ranges::find_if(
        groups, [&](const auto& group) { return have_same_places(group[0], term); });
    if (same == groups.end())
      groups.push_back({std::move(term)});
    else
      same->push_back(std::move(term));
  }
  value.terms.clear();
  for (const auto& group : groups) value.terms.push_back(merge(draft, value, group, fragment));
}

std::vector<BufferId> obtain(Draft& draft, Value& value, const std::vector<Placed>& needs,
                             const std::string& fragment) {
  merge_terms(draft, value, fragment);
  if (value.terms.size() == 1) finish(value);
  std::vector<Placed> open = open_needs(value, needs);
  std::vector<Placed> unfinished = select(value, open, false);
  bring(draft, value, select(value, open, true), true, fragment);
  bring(draft, value, unfinished, false, fragment);
  std::vector<BufferId> buffers;
  for (const Placed& need : needs) buffers.push_back(find_finished(value, need));
  return buffers;
}

}  // namespace troika
