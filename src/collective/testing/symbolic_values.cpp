#include "collective/testing/symbolic_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troika {
namespace {

/// The combination of one element over some members.
struct Sum {
  std::vector<int> members;  ///< Sorted; twice in the list is twice in the sum.
  bool tree = true;          ///< Combined as CombineOrder::tree says.
};

/// Numbers for sums, so that combining two is one look-up.
class Sums {
 public:
  int single(int member) { return number({.members = {member}}); }

  int combine(int a, int b) {
    std::uint64_t key = static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(b);
    if (auto known = combined_.find(key); known != combined_.end()) return known->second;
    const Sum &left = sums_[static_cast<std::size_t>(a)],
              &right = sums_[static_cast<std::size_t>(b)];
    Sum sum{.tree = left.tree && right.tree && are_siblings(left, right)};
    std::ranges::merge(left.members, right.members, std::back_inserter(sum.members));
    return combined_[key] = number(sum);
  }

  const Sum& operator[](int id) const { return sums_[static_cast<std::size_t>(id)]; }

 private:
  /// Two aligned blocks of the same size that make up the next larger one.
  static bool are_siblings(const Sum& a, const Sum& b) {
    int size = static_cast<int>(a.members.size());
    return a.members.size() == b.members.size() && a.members[0] % size == 0 &&
           b.members[0] % size == 0 && (a.members[0] / size ^ 1) == b.members[0] / size;
  }

  int number(const Sum& sum) {
    auto [entry, added] =
        numbers_.try_emplace({sum.members, sum.tree}, static_cast<int>(sums_.size()));
    if (added) sums_.push_back(sum);
    return entry->second;
  }

  std::vector<Sum> sums_;
  std::map<std::pair<std::vector<int>, bool>, int> numbers_;
  std::unordered_map<std::uint64_t, int> combined_;
};

/// Element `element` of the members' vectors (of their inputs in an all-to-all), combined.
struct Value {
  std::int64_t element = -1;  ///< -1: nothing was ever written.
  int sum = -1;

  bool operator==(const Value&) const = default;
};

class Memories {
 public:
  Memories(const Recipe& recipe, const MovePairs& pairs) : recipe_(recipe), pairs_(pairs) {
    bool reads_input = recipe.call.kind == Collective::all_to_all;
    for (int member = 0; member < recipe.call.members; ++member) {
      std::vector<Value> own, nothing(static_cast<std::size_t>(recipe.call.count));
      for (std::int64_t at = 0; at < recipe.call.count; ++at)
        own.push_back({at, sums_.single(member)});
      vectors_.push_back(reads_input ? nothing : own);
      inputs_.push_back(reads_input ? own : nothing);
      scratches_.emplace_back(
          static_cast<std::size_t>(recipe.members[static_cast<std::size_t>(member)].scratch));
    }
  }

  void end_move(MoveAt at) {
    const Move& move = move_at(recipe_, at);
    switch (move.kind) {
      case MoveKind::copy:
        return store(at.member, move.to, load(at.member, move.from));
      case MoveKind::reduce:
        return combine(at.member, move.to, load(at.member, move.from));
      case MoveKind::receive:
        return store(at.member, move.to, sent_to(at));
      case MoveKind::receive_reduce:
        return combine(at.member, move.to, sent_to(at));
      case MoveKind::reduce_both:
        return combine_both(at, move.to);
      case MoveKind::send:
      case MoveKind::lend:
      case MoveKind::borrow:
      case MoveKind::give_back:
        return;
    }
  }

  Value value(int member, std::int64_t element) const {
    return vectors_[static_cast<std::size_t>(member)][static_cast<std::size_t>(element)];
  }
  const Sums& sums() const { return sums_; }

 private:
  std::vector<Value>& memory(int member, Space space) {
    auto index = static_cast<std::size_t>(member);
    if (space == Space::input) return inputs_[index];
    return space == Space::scratch ? scratches_[index] : vectors_[index];
  }

  std::vector<Value> load(int member, const Piece& piece) {
    std::vector<Value>& from = memory(member, piece.space);
    return {from.begin() + piece.elements.begin, from.begin() + piece.elements.end};
  }

  void store(int member, const Piece& piece, const std::vector<Value>& values) {
    std::ranges::copy(values, memory(member, piece.space).begin() + piece.elements.begin);
  }

  std::vector<Value> sent_to(MoveAt receive) {
    MoveAt send = pairs_.partner_of(receive);
    return load(send.member, move_at(recipe_, send).from);
  }

  Value combined(Value a, Value b) {
    if (a.element != b.element || a.element < 0) return {};
    return {a.element, sums_.combine(a.sum, b.sum)};
  }

  void combine(int member, const Piece& piece, const std::vector<Value>& values) {
    std::vector<Value> sum = load(member, piece);
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] = combined(sum[at], values[at]);
    store(member, piece, sum);
  }

  void combine_both(MoveAt at, const Piece& piece) {
    std::vector<int> involved = lenders(recipe_, at);
    involved.push_back(at.member);
    std::ranges::sort(involved);
    std::vector<Value> sum = load(involved[0], piece);
    for (std::size_t next = 1; next < involved.size(); ++next) {
      std::vector<Value> other = load(involved[next], piece);
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] = combined(sum[e], other[e]);
    }
    for (int member : involved) store(member, piece, sum);
  }

  const Recipe& recipe_;
  const MovePairs& pairs_;
  Sums sums_;
  std::vector<std::vector<Value>> inputs_, vectors_, scratches_;
};

/// The owner of each element by the ranges; -1: nobody.
std::vector<int> owners(const CollectiveCall& call) {
  std::vector<int> owner(static_cast<std::size_t>(call.count), -1);
  for (int member = 0; member < static_cast<int>(call.ranges.size()); ++member) {
    Range range = intersect(call.ranges[static_cast<std::size_t>(member)], {0, call.count});
    for (std::int64_t at = range.begin; at < range.end; ++at)
      owner[static_cast<std::size_t>(at)] = member;
  }
  return owner;
}

/// What an element must hold: one member's element, or the combination of all.
struct Expected {
  std::int64_t element = -1;
  int member = -1;  ///< -1: all.
};

/// Nothing: it may be spoilt.
std::optional<Expected> expected(const CollectiveCall& call, int owner, int member,
                                 std::int64_t at) {
  switch (call.kind) {
    case Collective::all_reduce:
      return Expected{at, -1};
    case Collective::reduce:
      if (member == call.root) return Expected{at, -1};
      break;
    case Collective::reduce_scatter:
      if (owner == member) return Expected{at, -1};
      break;
    case Collective::broadcast:
      return Expected{at, call.root};
    case Collective::all_gather:
      return Expected{at, owner < 0 ? member : owner};
    case Collective::gather:
      if (member == call.root) return Expected{at, owner < 0 ? member : owner};
      if (owner == member) return Expected{at, member};
      break;
    case Collective::scatter:
      if (member == call.root || owner == member) return Expected{at, call.root};
      break;
    case Collective::all_to_all: {
      if (owner < 0) break;
      const auto &theirs = call.ranges[static_cast<std::size_t>(owner)],
                 &mine = call.ranges[static_cast<std::size_t>(member)];
      return Expected{at - theirs.begin + mine.begin, owner};
    }
    case Collective::barrier:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> wrong(const CollectiveCall& call, const Sums& sums, Value value,
                                 Expected expected) {
  if (value.element < 0) return "nothing of use";
  const Sum& sum = sums[value.sum];
  if (value.element != expected.element) return fmt::format("element {}", value.element);
  std::vector<int> all(static_cast<std::size_t>(call.members));
  std::iota(all.begin(), all.end(), 0);
  if (expected.member >= 0) all = {expected.member};
  if (sum.members != all)
    return fmt::format("the contributions of members {}, not of {}", fmt::join(sum.members, ","),
                       fmt::join(all, ","));
  if (call.order == CombineOrder::tree && !sum.tree) return "a sum that is no tree";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_wrong_value(const Recipe& recipe, const MovePairs& pairs,
                                            const EventOrder& order) {
  Memories memories(recipe, pairs);
  for (const MoveEvent& event : order.events) {
    if (event.end) memories.end_move(event.at);
  }
  std::vector<int> owner = owners(recipe.call);
  for (int member = 0; member < recipe.call.members; ++member) {
    for (std::int64_t at = 0; at < recipe.call.count; ++at) {
      auto wanted = expected(recipe.call, owner[static_cast<std::size_t>(at)], member, at);
      if (!wanted) continue;
      auto fault = wrong(recipe.call, memories.sums(), memories.value(member, at), *wanted);
      if (fault) return fmt::format("member {}, element {} holds {}", member, at, *fault);
    }
  }
  return std::nullopt;
}

}  // namespace troika
