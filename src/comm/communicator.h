// A group of devices as one member sees it: binds collective recipes to memory and messages.
//
// From here to the wire: a Recipe (collective/recipe.h) lists moves; prepare makes an Operation
// (operation.h) of this member's moves, with addresses and prepared messages (bound_moves.h);
// MoveScheduler (move_scheduler.h) starts it and runs its moves; a Transport (transport.h) carries
// the messages: through memory (threads/), or over MPI (mpi/). docs/algorithms.md walks through one
// all-reduce.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/move_scheduler.h"

namespace troika {

/// Every member makes its own, with the same list of devices, and prepares the same operations in
/// the same order, because the tags of messages follow from that order. The caller chooses the
/// algorithm, by its recipe. Two groups that have two devices in common cannot share a transport.
/// Threads: used by the device's thread. Ownership: borrows the scheduler.
class Communicator {
 public:
  /// `devices` are distinct; the scheduler's is one of them.
  Communicator(MoveScheduler& scheduler, std::vector<DeviceId> devices);

  int size() const { return static_cast<int>(devices_.size()); }
  /// Index of this device in the list.
  int member() const { return member_; }
  /// Starts the prepared operations and waits for them.
  MoveScheduler& scheduler() const { return scheduler_; }

  struct Elements {
    DType dtype = DType::f32;
    CombineRule rule = CombineRule::sum;
    Bytes chunk{256 << 10};  ///< After so much a more urgent operation may overtake.
  };
  /// Binds the recipe to the buffers, which the operation borrows, and prepares its messages.
  [[nodiscard]] std::unique_ptr<Operation> prepare(const MemberRecipe& recipe,
                                                   const MemberBuffers& buffers,
                                                   const Elements& elements);
  [[nodiscard]] std::unique_ptr<Operation> prepare(const Recipe& recipe,
                                                   const MemberBuffers& buffers,
                                                   const Elements& elements);
  [[nodiscard]] std::unique_ptr<Operation> prepare(const Recipe& recipe,
                                                   const MemberBuffers& buffers) {
    return prepare(recipe, buffers, Elements{});
  }

  /// Prepares, starts and waits; for a collective that runs once.
  void run(const Recipe& recipe, const MemberBuffers& buffers, const Elements& elements);

 private:
  MoveScheduler& scheduler_;
  const std::vector<DeviceId> devices_;
  const int member_;
  PairTags tags_;
};

/// Describes a call in words: "all_reduce of 1000 f32 (sum, ring, ...)". The text names everything
/// that must be equal on all members, so that ranks can compare their calls.
std::string describe_call(const CollectiveCall& call, std::string_view algorithm,
                          const Communicator::Elements& elements);

}  // namespace troika
