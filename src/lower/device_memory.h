// The memory of a device that stands for a class, kept up to date as its fragments change.
#pragma once

#include <optional>
#include <vector>

#include "lower/arena_pass.h"
#include "lower/message_scratch.h"

namespace troika {

/// Buffers that outlive a step.
struct PlannedState {
  Bytes bytes{};
  Bytes staging{};  ///< The plain form of the largest one that is stored in another layout.
  CategoryBytes categories{};

  void add(Bytes stored, Bytes plain, Category category);
  bool operator==(const PlannedState&) const = default;
};

struct PlannedMemory {
  PlannedState state;
  /// The most that lives in the arena at once, each buffer rounded up to the alignment. Packing
  /// never needs less.
  Bytes peak{};
  /// Memory of messages: at least as much as each device of the class needs. Exact if the same
  /// device needs most for every message.
  Bytes messages{};
  /// State, what lives at the peak, and messages.
  CategoryBytes categories{};

  /// The memory that a device must have. Packing may leave gaps that are not counted here.
  Bytes total() const { return state.bytes + std::max(peak, state.staging) + messages; }
  bool operator==(const PlannedMemory&) const = default;
};

/// Scratch and sharing of sums, copies and norms, by their number. Borrows the folding and the
/// table.
class MovementMemory {
 public:
  struct Work {
    Bytes scratch{};
    std::vector<InPlace> in_place;
  };
  MovementMemory(Folding& folding, const KernelTable& table) : folding_(folding), table_(table) {}

  const Work& of(std::int32_t movement, std::int32_t device);

 private:
  Folding& folding_;
  const KernelTable& table_;
  std::deque<std::optional<Work>> known_;  // stay in place as others are added
};

/// Borrows everything.
class DeviceMemory {
 public:
  struct Tables {
    Folding& folding;
    MovementMemory& movements;
    MessageScratch& messages;
  };
  DeviceMemory(const Tables& tables, std::int32_t device);

  /// As the first device of this class. `same_classes`: all are as at the last call.
  PlannedMemory count(std::int32_t a_class, bool same_classes);

 private:
  struct KnownFragment {
    std::uint64_t version = 0;
    std::vector<std::int32_t> uses{};  // buffers
    Bytes messages{};
  };
  /// Buffers that the host knows, and the fragment that they follow.
  struct HostBuffers {
    std::size_t fragment;
    std::uint64_t version = 0;
    std::vector<std::int32_t> buffers{};
  };

  void list_host_values();
  void follow_fragments(std::span<const Fragment> fragments);
  void follow_host_buffers();
  void place(std::size_t at, const Fragment& fragment);
  void place_added(const std::vector<bool>& changed);
  void count_messages(std::span<const Fragment> fragments, std::int32_t a_class, bool same_classes);
  Bytes messages_of(std::size_t at, const Fragment& fragment, std::int32_t a_class);
  void run_pass();
  void share_in_place();
  std::span<const std::int32_t> uses_of(const PassTask& task) const;

  Tables tables_;
  const ProgramPlan& plan_;
  std::int32_t device_;
  BufferTable buffers_;
  ArenaPass pass_;
  const Folding::Versions* versions_ = nullptr;  // now
  std::vector<KnownFragment> fragments_;
  std::vector<PassTask> tasks_, added_;  // in the order of a pass
  std::vector<HostBuffers> parameters_, inputs_;
  HostBuffers outputs_;
};

}  // namespace troika
