// The memory that a plan needs, by class, during a search: kept up to date as the plan changes,
// without offsets in an arena (docs/design.md, Plan and bind).
#pragma once

#include <map>
#include <vector>

#include "lower/device_memory.h"

namespace troika {

/// A device that stands for a class is counted when it is new or its tasks were emitted again.
/// Borrows the folding and the table. Not movable.
class LiveBytes {
 public:
  LiveBytes(Folding& folding, const KernelTable& table);
  LiveBytes(const LiveBytes&) = delete;
  LiveBytes& operator=(const LiveBytes&) = delete;

  /// By class of the folded graph as it is now, which must be complete. Valid until the next call.
  const std::vector<PlannedMemory>& by_class();
  /// How often a device was counted.
  std::int64_t counted() const { return counted_; }

 private:
  struct Known {
    explicit Known(const DeviceMemory::Tables& tables, std::int32_t device)
        : memory(tables, device) {}

    DeviceMemory memory;
    std::uint64_t version = 0;
    PlannedMemory answer{};
  };
  /// Parameters that no operator uses, by device.
  static std::map<std::int32_t, PlannedState> unused_parameters(const ProgramPlan& plan);
  bool follow_classes();
  void add_unused();

  Folding& folding_;
  MovementMemory movements_;
  MessageScratch messages_;
  const std::map<std::int32_t, PlannedState> unused_;
  Classes classes_;
  std::map<std::int32_t, std::unique_ptr<Known>> known_;  // by device
  std::vector<PlannedMemory> answers_;
  std::int64_t counted_ = 0;
};

/// The same, once.
std::vector<PlannedMemory> memory_by_class(Folding& folding, const KernelTable& table);

}  // namespace troika
