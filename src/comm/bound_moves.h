// A member's moves with addresses and messages in place of pieces and peers: flat lists that an
// operation walks without allocating.
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

/// Where a member's elements are: host memory, borrowed for the life of what is bound to it.
struct MemberBuffers {
  std::span<std::byte> vector;
  std::span<const std::byte> input;  ///< For all_to_all only.
};

struct BindOptions {
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
  ChannelTags tags{};  ///< From PairTags; 0 where a channel has none.
};

struct BoundMove {
  enum class Kind : std::uint8_t {
    copy,
    reduce,
    send,  ///< And lend.
    receive,
    receive_reduce,
    borrow,
    give_back,
    reduce_both,
    widen,   ///< The 16-bit vector into the f32 one that the other moves work on.
    narrow,  ///< And back, divided for a mean.
    divide,
  };

  Kind kind = Kind::copy;
  bool past_caches = false;  ///< Of a reduce_both.
  std::int64_t count = 0;    ///< Elements.
  std::int64_t done = 0;     ///< Of them, in this round.
  std::byte* to = nullptr;   ///< At the element number `done`, as `from`.
  const std::byte* from = nullptr;
  Outgoing* outgoing = nullptr;
  Incoming* incoming = nullptr;
  /// Index into `borrows`: of a borrow or give_back; or of what `to` or `from` lies in, at the
  /// given byte.
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

/// A vector that a reduce_both works on, in the order of the members: a borrowed one, or my own.
struct VectorUse {
  int borrow = -1;
  std::ptrdiff_t start = 0;  ///< Byte in the borrow.
  std::byte* own = nullptr;  ///< If it is mine.
};

struct BoundMoves {
  std::vector<BoundMove> moves;
  std::vector<std::uint32_t> blockers;    ///< For each move, how many must be done before.
  std::vector<std::uint32_t> dependents;  ///< Moves that one or another blocks.
  std::vector<Borrow> borrows;
  std::vector<VectorUse> uses;
  DType dtype = DType::f32;  ///< What the moves work in: f32 where a 16-bit vector is widened.
  int divisor = 1;           ///< Of divide and narrow.
  int both_divisor = 1;      ///< Of reduce_both, where it is the only move that combines.

  // Owned here, pointed to from above.
  std::vector<std::unique_ptr<Outgoing>> outgoing;
  std::vector<std::unique_ptr<Incoming>> incoming;
  HostBlock scratch, landings, wide;

  Bytes allocated() const { return scratch.bytes() + landings.bytes() + wide.bytes(); }
};

/// A sum of 16-bit elements is rounded once: where a recipe combines on the way, its moves work in
/// f32 on a copy of the vector; where reduce_both combines all members at once, on the vector
/// itself. Fails with a Bug when recipe, member and buffers do not fit one another.
BoundMoves bind(const MemberRecipe& recipe, const Member& member, const MemberBuffers& buffers,
                const BindOptions& options, Transport& transport);

}  // namespace troika
