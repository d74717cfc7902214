// How a tensor gets from the tiles that write it to the tiles that read it. A pure function of
// boxes and devices, so tensors whose splits are equal share one answer, and a change of one split
// concerns the tensors of that operator only (docs/design.md, Lowering).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/recipe.h"
#include "lower/box.h"
#include "tensor/region.h"

namespace troika {

/// One tile's use of the tensor.
struct Touch {
  std::int32_t device = 0;
  std::int32_t box = 0;  ///< Index into RedistributionRequest::boxes.

  bool operator==(const Touch&) const = default;
};

/// One operator's phase that writes the tensor, or adds to it.
struct Contribution {
  std::vector<Touch> tiles;
  /// Of each tile: which term of the sum it writes. Tiles of one term whose boxes overlap hold the
  /// same values there; what no tile of a term covers is zero in that term.
  std::vector<std::int32_t> terms;  ///< Empty: all tiles write the only one.
  std::int32_t term_count = 1;
  /// Others use the same memory (a view, a stored parameter), so it must not be reduced in place.
  bool shared = false;

  bool operator==(const Contribution&) const = default;
};

struct RedistributionRequest {
  Frame frame;
  std::vector<Box> boxes;  ///< Each once.
  std::vector<Contribution> from;
  std::vector<std::vector<Touch>> readers;  ///< In the order in which they run.
  bool greatest = false;  ///< Terms combine to their maximum instead of their sum.
  /// Sums pairwise, in the order of the terms; those of one shard that several contributions have,
  /// first. Messages combine their members as a tree (CombineOrder::tree).
  bool fixed_order = false;
  /// Terms that lie alike are added up after each contribution, so that one buffer holds them
  /// (micro-batches); else before the first reader.
  bool merge_each = false;

  bool operator==(const RedistributionRequest&) const = default;
};

/// Where devices are: what a message between two of them passes. By device; empty: all are in one.
struct Neighbourhood {
  std::span<const std::int32_t> process;
  std::span<const std::int32_t> node;
};

/// Memory that the tensor takes on one device. Elements count boxes of the frame; the tensor's
/// other dimensions multiply them.
struct PlacedBuffer {
  enum class Kind : std::uint8_t {
    written,  ///< By a tile of a contribution.
    value,    ///< Made by a step, or received: a box of the tensor.
    vector,   ///< Of a message: blocks one behind the other. As long as `elements`.
    block,    ///< A box of the tensor that lies in a vector.
    zeros,    ///< A box that no contribution covers.
  };
  Kind kind = Kind::value;
  std::int32_t device = 0;
  std::int32_t box = -1;     ///< -1: a vector that has no shape. A vector with a box lies as that.
  std::int32_t origin = -1;  ///< written: the contribution; block: the vector's buffer.
  std::int32_t tile = -1;    ///< written: of the contribution.
  std::int64_t offset = 0;   ///< block: in the vector, in elements.
  std::int64_t elements = 0;

  bool operator==(const PlacedBuffer&) const = default;
};

/// A box out of a buffer. `box` is absolute, as in the frame.
struct StepInput {
  std::int32_t buffer = 0;
  std::int32_t box = 0;

  bool operator==(const StepInput&) const = default;
};

/// What a device does for the tensor.
struct Step {
  enum class Kind : std::uint8_t {
    sum,       ///< out = the sum of the inputs, which have its box.
    assemble,  ///< out = boxes of the inputs; where they overlap, combined.
    start,     ///< Hands `out` over to the message.
    finish,    ///< Gets it back.
  };
  Kind kind = Kind::sum;
  std::int32_t device = 0;
  /// When: m < contributions: right after contribution m; else right before reader
  /// m - contributions.
  std::int32_t moment = 0;
  std::int32_t out = 0;                           ///< Buffer.
  std::int32_t first_input = 0, input_count = 0;  ///< In Redistribution::inputs.
  std::int32_t message = -1, member = -1;         ///< Of a start or finish.
  /// Of an assemble: its inputs come in layers that make up `out` (ops/assemble.h), and place_boxes
  /// finds places for boxes like theirs. Where each begins in `out` is then a position only.
  bool layered = false;

  bool operator==(const Step&) const = default;
};

struct Message {
  Collective kind = Collective::all_reduce;
  std::int32_t first_member = 0, members = 0;  ///< In Redistribution::members; a root is the first.
  /// Of the vector of the call. The buffers of an all_to_all are twice as long: what a member sends
  /// and, behind it, what it gets.
  std::int64_t elements = 0;
  std::int32_t first_range = 0;        ///< In Redistribution::ranges; one per member, or -1.
  std::int32_t start = 0, finish = 0;  ///< Moments, the same for all members.

  bool operator==(const Message&) const = default;
};

struct MessageMember {
  std::int32_t device = 0;
  std::int32_t buffer = 0;

  bool operator==(const MessageMember&) const = default;
};

struct Redistribution {
  std::vector<Box> boxes;  ///< Those of the request first.
  /// Sorted by device. On a device: the written ones by contribution and tile, then the others in
  /// the order of the steps that make them.
  std::vector<PlacedBuffer> buffers;
  std::vector<Step> steps;  ///< Sorted by device, then in the order in which the device does them.
  std::vector<StepInput> inputs;
  std::vector<Message> messages;
  std::vector<MessageMember> members;
  std::vector<Range> ranges;
  std::vector<std::vector<std::int32_t>> reads;  ///< By reader and tile: the buffer that it reads.
  /// Every reader's tile reads what a contribution's tile on its own device wrote, as it is.
  bool in_place = false;

  bool operator==(const Redistribution&) const = default;
};

/// Each reader's tile gets a buffer that holds just its box on its device, with all terms combined:
/// what is there already, else behind a collective where the readers' boxes as a whole make one,
/// else put together from local buffers and messages. What was brought for a reader serves later
/// ones too.
///
/// No tie is broken by device number. Of several holders of a box the nearest serves (same process,
/// same node); among equally near ones the n-th reader of the box takes the n-th holder, counted in
/// the order of the tiles and wrapping around. Members of a collective follow the order of the
/// terms or, where it gathers, of the tiles; receivers of a broadcast that of the reader's tiles
/// behind the sender's own. Lists that mix own and received parts begin with the own one and follow
/// the order of the members from there, wrapping around, in sums contribution by contribution; but
/// a sum that several tiles of a reader need is added up in the order of the terms by all of them,
/// so that they get the same bits.
///
/// A step that a message waits for happens as soon as its inputs are there, a start when the inputs
/// of all members are there, and everything else right before the first reader that it serves.
///
/// An all-to-all among P devices takes P^2 steps and blocks: every member fills in a block for each
/// of the others, and these differ from member to member.
Redistribution redistribute(const RedistributionRequest& request, const Neighbourhood& where);

}  // namespace troika
