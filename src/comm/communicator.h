// A group of devices as one of them sees it: makes the operations that they do together.
#pragma once

#include <memory>
#include <vector>

#include "comm/operation.h"

namespace troika {

/// Every member makes its own, with the same list of devices, and prepares the same operations in
/// the same order: tags follow from it. Used by the device's thread; borrows the progress. Which
/// algorithm a recipe follows is decided outside. Two groups with two devices in common cannot be
/// used on one transport.
class Communicator {
 public:
  /// `devices` are distinct; that of the progress is one of them.
  Communicator(MoveProgress& progress, std::vector<DeviceId> devices);

  int size() const { return static_cast<int>(devices_.size()); }
  /// This device's place in the list.
  int member() const { return member_; }

  struct Elements {
    DType dtype = DType::f32;
    CombineRule rule = CombineRule::sum;
    Bytes chunk{256 << 10};  ///< After which a more urgent operation may go first.
  };
  /// Outlived by the communicator's progress and by the buffers.
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

  /// Prepares, starts and waits: for tests and for what happens once.
  void run(const Recipe& recipe, const MemberBuffers& buffers, const Elements& elements);

 private:
  MoveProgress& progress_;
  const std::vector<DeviceId> devices_;
  const int member_;
  PairTags tags_;
};

}  // namespace troika
