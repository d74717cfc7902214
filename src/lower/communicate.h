// Communications in a draft: the start and finish task of every member.
#pragma once

#include <string>
#include <vector>

#include "lower/draft.h"

namespace troika {

struct CommunicationRequest {
  std::string fragment;
  std::string name;
  Collective kind = Collective::all_reduce;
  CombineRule rule = CombineRule::sum;
  /// One per member, each on another device, all of one spec, with as many vectors as
  /// vectors_in_buffer says. A broadcast goes from the first.
  std::vector<BufferId> buffers;
  std::vector<Range> ranges{};  ///< Elements; for gathering and scattering.
  CombineOrder order = CombineOrder::any;
};

/// Appends the starts of all members and then their ends; order_tasks.h moves them apart.
void add_communication(Draft& draft, const CommunicationRequest& request);

/// A copy of the box of `from` that is moved to `to` in a buffer of its own, on the same device.
struct CopyRequest {
  std::string fragment;
  BufferId from;
  Region box;       ///< In `from`, with its own indices.
  BufferId into{};  ///< As large as the box; invalid: a new buffer.
};
BufferId add_copy(Draft& draft, const CopyRequest& request);

}  // namespace troika
