// The communications of all aspects in flat lists, and their members by node and process.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lower/classes.h"
#include "lower/colour.h"

namespace troika {

struct CommunicationList {
  std::vector<Membership> members;  ///< Of all of them, one after the other, in the listed order.
  std::vector<std::int32_t> ends;   ///< By communication: its end in `members`.
  std::vector<Colour> shapes;       ///< By communication: its aspect and shape.
};

CommunicationList list_communications(std::span<const Aspect* const> aspects);

/// A tree of lists: communications have nodes, which have processes, which have members. Each list
/// says where the entries below it end.
struct MemberGroups {
  std::vector<Membership> members;
  std::vector<std::int32_t> processes;  ///< By process of a communication: its end in `members`.
  std::vector<std::int32_t> nodes;      ///< By node of a communication: its end in `processes`.
  std::vector<std::int32_t> communications;  ///< Their ends in `nodes`.
};

MemberGroups group_members(const Machine& machine, CommunicationList list);

}  // namespace troika
