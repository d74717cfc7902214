// A member's moves bound to memory: addresses in place of pieces, prepared messages in place of
// peers, in flat lists that an operation walks without allocating.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collective/combine_rule.h"
#include "collective/recipe.h"
#include "comm/host_block.h"
#include "comm/pair_tags.h"
#include "comm/transport.h"
#include "tensor/dtype.h"

namespace troika {

/// A member's host memory, borrowed as long as moves are bound to it.
struct MemberBuffers {
  std::span<std::byte> vector;
  std::span<const std::byte> input;  ///< For all_to_all only.
};

struct BindOptions {
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
  ChannelTags tags{};  ///< From PairTags; a channel that is missing begins with 0.
};

struct BoundMove {
  enum class Kind : std::uint8_t {
    copy,
    reduce,
    send,  ///< Also lend.
    receive,
    receive_reduce,
    borrow,
    give_back,
    reduce_both,
    widen,   ///< Converts the 16-bit vector to f32, in which the other moves work.
    narrow,  ///< Converts it back, divided for a mean.
    divide,
  };

  Kind kind = Kind::copy;
  bool streams = false;     ///< Of a reduce_both: it writes with non-temporal stores.
  std::int64_t count = 0;   ///< Elements.
  std::int64_t done = 0;    ///< Elements done in this round.
  std::byte* to = nullptr;  ///< Address of the first element, as `from`.
  const std::byte* from = nullptr;
  Outgoing* outgoing = nullptr;
  Incoming* incoming = nullptr;
  /// Indices into `borrows`: the one that a borrow or give_back handles, and those that `to` and
  /// `from` lie in, with their byte offsets.
  int borrow = -1, to_borrow = -1, from_borrow = -1;
  std::ptrdiff_t to_start = 0, from_start = 0;
  std::uint32_t first_use = 0, uses = 0;              ///< Of a reduce_both, in `uses`.
  std::uint32_t first_dependent = 0, dependents = 0;  ///< In `dependents`.
};

struct Borrow {
  Incoming* incoming = nullptr;
  int peer = -1;
  Range elements;
  std::byte* address = nullptr;  ///< Of the first element, while it is borrowed.
};

/// A vector that a reduce_both combines, in the order of the members: a borrowed one or this
/// member's own.
struct VectorUse {
  int borrow = -1;
  std::ptrdiff_t start = 0;  ///< Byte offset in the borrow.
  std::byte* own = nullptr;  ///< This member's own vector, else null.
};

struct BoundMoves {
  std::vector<BoundMove> moves;
  std::vector<std::uint32_t> blockers;  ///< Per move: the number of moves that must be done before.
  std::vector<std::uint32_t> dependents;  ///< Moves that a move blocks; see BoundMove.
  std::vector<Borrow> borrows;
  std::vector<VectorUse> uses;
  DType dtype = DType::f32;  ///< In which the moves work: f32 if a 16-bit vector is widened.
  int divisor = 1;           ///< Of divide and narrow.
  int both_divisor = 1;      ///< Of reduce_both, if it is the only move that combines.

  // Owned here; the members above point to them.
  std::vector<std::unique_ptr<Outgoing>> outgoing;
  std::vector<std::unique_ptr<Incoming>> incoming;
  HostBlock scratch, receive_buffers, wide;

  Bytes allocated() const { return scratch.bytes() + receive_buffers.bytes() + wide.bytes(); }
};

/// Prepares the messages of the recipe and allocates its scratch. A sum of 16-bit elements is
/// rounded once: if the recipe combines in several steps, its moves work in f32 on a copy of the
/// vector; if one reduce_both combines all members, on the vector itself. Throws Bug if recipe,
/// member and buffers do not match.
BoundMoves bind(const MemberRecipe& recipe, const Member& member, const MemberBuffers& buffers,
                const BindOptions& options, Transport& transport);

}  // namespace troika
