// What the tiles of a producer have against what the tiles of a consumer need: which part of which
// piece goes where, and which of it is a collective (docs/design.md, Lowering). Pure: regions and
// devices only.
#pragma once

#include <vector>

#include "machine/machine.h"
#include "tensor/region.h"

namespace troika {

/// A part of a tensor in the memory of a device.
struct Placed {
  Region region;
  DeviceId device;

  /// The device first: of many places most are told apart by it.
  bool operator==(const Placed& other) const {
    return device == other.device && region == other.region;
  }
};

/// A tensor spread over devices: the sum of its terms. Within a term pieces that overlap hold the
/// same values; what no piece of a term covers is zero there. A value that nobody has to add up has
/// one term; a sum over a split axis has one term for each part of that axis.
struct Spread {
  std::vector<std::vector<Placed>> terms;

  bool operator==(const Spread&) const = default;
};

/// `region` of terms[term][piece].
struct Taken {
  std::size_t term = 0;
  std::size_t piece = 0;
  Region region;

  bool operator==(const Taken&) const = default;
};

/// For one need, what is put together: the parts of one term do not overlap, those of different
/// terms are added in the order of the terms.
using Assembly = std::vector<Taken>;

/// One assembly per need. Of each term every needed element is taken once, from the device itself
/// where that has it; of other devices' pieces the one that serves most at once goes first.
std::vector<Assembly> assemble(const Spread& have, const std::vector<Placed>& needs);

/// Whether the assembly is the piece itself, with nothing to do.
bool is_in_place(const Spread& have, const Placed& need, const Assembly& assembly);

/// A redistribution that is a collective over the devices, each of which has one piece; `member`
/// orders them.
struct Exchange {
  enum class Kind { all_reduce, reduce_scatter, all_gather, all_to_all };
  Kind kind = Kind::all_reduce;
  Region region{};                 ///< What is reduced or gathered; empty for all_to_all.
  std::vector<Taken> pieces;       ///< One per member.
  std::vector<std::size_t> needs;  ///< One per member: index of the need that it satisfies.

  bool operator==(const Exchange&) const = default;
};

/// The collectives that satisfy needs whole: needs of one region on just the devices that each hold
/// one term of it (all_reduce), disjoint needs that make up such a region (reduce_scatter), and
/// needs of a region that lies in disjoint pieces on just these devices (all_gather); and the
/// groups of find_all_to_all.h. A need is in one exchange at most; for the others see assemble.
std::vector<Exchange> find_exchanges(const Spread& have, const std::vector<Placed>& needs);

}  // namespace troika
