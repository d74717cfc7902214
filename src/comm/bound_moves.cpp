#include "comm/bound_moves.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "collective/algorithms.h"
#include "collective/member_memory.h"

namespace troika {
namespace {

using Kind = BoundMove::Kind;

/// The elements that hold a combined result on this member at the end.
Range result_of(const CollectiveCall& call, int member) {
  switch (call.kind) {
    case Collective::all_reduce:
      return {0, call.count};
    case Collective::reduce_scatter:
      return call.ranges[static_cast<std::size_t>(member)];
    case Collective::reduce:
      return member == call.root ? Range{0, call.count} : Range{};
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
    case Collective::barrier:
      return {};
  }
  return {};
}

/// Translates a recipe move by move. A 16-bit vector adds a widen before and a narrow after them.
class Binder {
 public:
  Binder(const MemberRecipe& recipe, const Member& member, const MemberBuffers& buffers,
         const BindOptions& options, Transport& transport)
      : recipe_(recipe),
        moves_(recipe.moves),
        member_(member),
        buffers_(buffers),
        options_(options),
        transport_(transport),
        numbers_(options.tags) {
    memory_ = memory_of_member(recipe, {options.dtype, options.rule},
                               [&](int peer) { return needs_receive_buffer(peer); });
    bound_.dtype = memory_.dtype;
    widens_ = memory_.widens;
    element_ = size_of(bound_.dtype).count;
    // A mean is divided once: by reduce_both in its only pass or, if partial sums travel, by the
    // last move.
    if (options.rule == CombineRule::mean)
      (combines_on_the_way(recipe.call, recipe.algorithm) ? bound_.divisor : bound_.both_divisor) =
          recipe.call.members;
    check_buffers();
  }

  // Memory comes first, since moves are bound to addresses in it. The recipe's indices shift by one
  // if there is a widen in front.
  BoundMoves bind() && {
    vector_ = buffers_.vector.data();
    if (widens_) {
      bound_.wide = HostBlock(memory_.wide);
      vector_ = bound_.wide.address();
    }
    bound_.scratch = HostBlock(memory_.scratch);
    bound_.receive_buffers = HostBlock(memory_.receive_buffers);
    next_receive_buffer_ = bound_.receive_buffers.address();
    add_first();
    for (const Move& move : moves_.moves) add(move);
    add_last();
    list_dependents();
    return std::move(bound_);
  }

 private:
  void check_buffers() const {
    std::int64_t bytes = recipe_.call.count * size_of(options_.dtype).count;
    TROIKA_CHECK_EQ(recipe_.member, member_.index);
    TROIKA_CHECK_EQ(static_cast<int>(member_.devices.size()), recipe_.call.members);
    TROIKA_CHECK_EQ(std::ssize(buffers_.vector), bytes);
    if (recipe_.call.kind == Collective::all_to_all)
      TROIKA_CHECK_EQ(std::ssize(buffers_.input), bytes);
  }

  DeviceId mine() const { return member_.devices[static_cast<std::size_t>(member_.index)]; }
  DeviceId device(int peer) const { return member_.devices[static_cast<std::size_t>(peer)]; }
  std::size_t bytes_of(Range elements) const {
    return static_cast<std::size_t>(elements.extent() * element_);
  }

  // A message to be combined needs its own receive buffer, unless the sender's memory can be read.
  bool needs_receive_buffer(int peer) const {
    return !transport_.shares_memory(device(peer), mine());
  }

  // All moves depend on the widened vector, so this one comes first.
  void add_first() {
    if (!widens_) return;
    bound_.moves.push_back({.kind = Kind::widen,
                            .count = recipe_.call.count,
                            .to = vector_,
                            .from = buffers_.vector.data()});
    after_.push_back({});
    first_ = 1;
  }

  // The result is divided or narrowed after all other moves.
  void add_last() {
    if (bound_.divisor == 1 && !widens_) return;
    Range result = result_of(recipe_.call, member_.index);
    std::byte* from = vector_ + result.begin * element_;
    BoundMove last{.kind = Kind::divide, .count = result.extent(), .to = from};
    if (widens_) {
      last.kind = Kind::narrow;
      last.from = from;
      last.to = buffers_.vector.data() + result.begin * size_of(options_.dtype).count;
    }
    std::vector<int> all(bound_.moves.size());
    for (std::size_t at = 0; at < all.size(); ++at) all[at] = static_cast<int>(at);
    bound_.moves.push_back(last);
    after_.push_back(std::move(all));
  }

  void add(const Move& move) {
    BoundMove bound;
    switch (move.kind) {
      case MoveKind::copy:
      case MoveKind::reduce:
        bound.kind = move.kind == MoveKind::copy ? Kind::copy : Kind::reduce;
        bound.count = move.to.elements.extent();
        place(move.to, move.peer, bound.to_borrow, bound.to_start, bound.to);
        std::byte* from;
        place(move.from, move.peer, bound.from_borrow, bound.from_start, from);
        bound.from = from;
        break;
      case MoveKind::send:
      case MoveKind::lend:
        bound.kind = Kind::send;
        bind_outgoing(move, bound);
        break;
      case MoveKind::receive:
      case MoveKind::receive_reduce:
        bound.kind = move.kind == MoveKind::receive ? Kind::receive : Kind::receive_reduce;
        bound.count = move.to.elements.extent();
        bound.to = own(move.to);
        bind_incoming(move, bound);
        break;
      case MoveKind::borrow:
        bound.kind = Kind::borrow;
        bind_borrow(move, bound);
        break;
      // Looked up before it is marked: later moves must find a newer loan of the same elements.
      case MoveKind::give_back:
        bound.kind = Kind::give_back;
        bound.borrow = find_borrow(move.peer, move.from.elements);
        bound.incoming = bound_.borrows[static_cast<std::size_t>(bound.borrow)].incoming;
        is_given_back_[static_cast<std::size_t>(bound.borrow)] = true;
        break;
      case MoveKind::reduce_both:
        bound.kind = Kind::reduce_both;
        bound.streams = move.streams;
        bound.count = move.to.elements.extent();
        bind_uses(move, bound);
        break;
    }
    bound_.moves.push_back(bound);
    std::vector<int> after = move.after;
    for (int& earlier : after) earlier += first_;
    // The other moves wait for the widen indirectly, through the moves that they are after.
    if (first_ > 0 && after.empty()) after.push_back(0);
    after_.push_back(std::move(after));
  }

  std::byte* own(const Piece& piece) const {
    std::int64_t start = piece.elements.begin * element_;
    switch (piece.space) {
      case Space::vector:
        return vector_ + start;
      case Space::scratch:
        return bound_.scratch.address() + start;
      case Space::input:
        return const_cast<std::byte*>(buffers_.input.data()) + start;  // no move writes to it
      case Space::borrowed:
        break;
    }
    throw Bug("a recipe sends borrowed memory");
  }

  // Sets an address if the memory is this member's own, else the loan and the offset in it: the
  // lender's address is known only when the loan has arrived.
  void place(const Piece& piece, int peer, int& borrow, std::ptrdiff_t& start,
             std::byte*& address) const {
    address = nullptr;
    if (piece.space != Space::borrowed) {
      address = own(piece);
      return;
    }
    borrow = find_borrow(peer, piece.elements);
    Range lent = bound_.borrows[static_cast<std::size_t>(borrow)].elements;
    start = (piece.elements.begin - lent.begin) * element_;
  }

  // Both sides count the messages of a channel in the order of the recipe, so tags match.
  MessageAddress next_address(const Move& move) {
    Channel channel = channel_of(move, member_);
    return {channel.from, channel.to, numbers_[channel]++};
  }

  void bind_outgoing(const Move& move, BoundMove& bound) {
    std::span<std::byte> bytes{own(move.from), bytes_of(move.from.elements)};
    MessageAddress address = next_address(move);
    bound_.outgoing.push_back(move.kind == MoveKind::lend
                                  ? transport_.prepare_lend(address, bytes)
                                  : transport_.prepare_send(address, bytes));
    bound.outgoing = bound_.outgoing.back().get();
  }

  void bind_incoming(const Move& move, BoundMove& bound) {
    std::size_t bytes = bytes_of(move.to.elements);
    std::byte* buffer = bound.to;  // a plain receive goes to its destination
    // Buffers are handed out in the order of the recipe; memory_of_member has counted them alike.
    if (move.kind == MoveKind::receive_reduce && needs_receive_buffer(move.peer)) {
      buffer = next_receive_buffer_;
      next_receive_buffer_ += bytes;
    }
    bound_.incoming.push_back(transport_.prepare_receive(next_address(move), {buffer, bytes}));
    bound.incoming = bound_.incoming.back().get();
  }

  void bind_borrow(const Move& move, BoundMove& bound) {
    bound_.incoming.push_back(
        transport_.prepare_borrow(next_address(move), bytes_of(move.from.elements)));
    bound.incoming = bound_.incoming.back().get();
    bound.borrow = static_cast<int>(bound_.borrows.size());
    bound_.borrows.push_back({bound.incoming, move.peer, move.from.elements});
    is_given_back_.push_back(false);
  }

  // The peer's loan that contains the elements and that no earlier move has given back.
  int find_borrow(int peer, Range elements) const {
    for (std::size_t at = 0; at < bound_.borrows.size(); ++at) {
      const Borrow& borrow = bound_.borrows[at];
      if (borrow.peer == peer && !is_given_back_[at] && borrow.elements.begin <= elements.begin &&
          elements.end <= borrow.elements.end)
        return static_cast<int>(at);
    }
    throw Bug("a recipe uses elements of a peer that it has not borrowed");
  }

  // Vectors are combined in the order of the members on every device, whoever borrows from whom, so
  // that all results have the same bits.
  void bind_uses(const Move& move, BoundMove& bound) {
    bound.first_use = static_cast<std::uint32_t>(bound_.uses.size());
    // Sorted by member.
    std::map<int, VectorUse> by_member{{member_.index, {.own = own(move.to)}}};
    for (std::size_t at = 0; at < bound_.borrows.size(); ++at) {
      const Borrow& borrow = bound_.borrows[at];
      // Skips loans of other elements.
      if (is_given_back_[at] || intersect(borrow.elements, move.to.elements).empty()) continue;
      by_member[borrow.peer] = {
          .borrow = static_cast<int>(at),
          .start = (move.to.elements.begin - borrow.elements.begin) * element_};
    }
    for (const auto& [index, use] : by_member) bound_.uses.push_back(use);
    bound.uses = static_cast<std::uint32_t>(by_member.size());
  }

  // Turns "after" lists into counters and flat lists of dependents: completing a move is then a
  // loop over a few integers.
  void list_dependents() {
    // after_[i] lists the moves before i; this inverts it.
    std::vector<std::vector<std::uint32_t>> dependents(bound_.moves.size());
    for (std::size_t at = 0; at < after_.size(); ++at) {
      bound_.blockers.push_back(static_cast<std::uint32_t>(after_[at].size()));
      for (int earlier : after_[at])
        dependents[static_cast<std::size_t>(earlier)].push_back(static_cast<std::uint32_t>(at));
    }
    for (std::size_t at = 0; at < dependents.size(); ++at) {
      BoundMove& move = bound_.moves[at];
      move.first_dependent = static_cast<std::uint32_t>(bound_.dependents.size());
      move.dependents = static_cast<std::uint32_t>(dependents[at].size());
      bound_.dependents.insert(bound_.dependents.end(), dependents[at].begin(),
                               dependents[at].end());
    }
  }

  const MemberRecipe& recipe_;
  const MemberMoves& moves_;
  const Member& member_;
  const MemberBuffers& buffers_;
  const BindOptions& options_;
  Transport& transport_;
  MemberMemory memory_;
  bool widens_ = false;
  std::int64_t element_ = 0;  // bytes
  std::byte* vector_ = nullptr;
  std::byte* next_receive_buffer_ = nullptr;
  int first_ = 0;        // index of the recipe's first move
  ChannelTags numbers_;  // of the next messages
  std::vector<bool> is_given_back_;
  std::vector<std::vector<int>> after_;
  BoundMoves bound_;
};

}  // namespace

BoundMoves bind(const MemberRecipe& recipe, const Member& member, const MemberBuffers& buffers,
                const BindOptions& options, Transport& transport) {
  return Binder(recipe, member, buffers, options, transport).bind();
}

}  // namespace troika
