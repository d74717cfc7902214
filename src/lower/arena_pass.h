// One pass over the tasks of a device: which buffers live when, and how much they are at most
// together. As place_buffers treats them, without giving them offsets.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lower/buffer_table.h"

namespace troika {

inline constexpr std::size_t kCategories = 5;
using CategoryBytes = std::array<Bytes, kCategories>;

/// A task in the order of a pass.
struct PassTask {
  Turn turn;
  PackedId id;
  std::int64_t scratch = 0;                        ///< Bytes, as they lie in an arena.
  const std::vector<InPlace>* in_place = nullptr;  ///< Null: nothing may be.
  std::int32_t fragment = 0, first_use = 0;
  std::int16_t lag = 0, use_count = 0;

  auto order() const { return std::tuple(turn, lag, id); }
};

/// Borrows the table. Add all uses first, then query.
class ArenaPass {
 public:
  explicit ArenaPass(BufferTable& buffers) : buffers_(buffers) {}

  void begin(std::size_t tasks);
  void use(std::int32_t buffer, std::int32_t place, std::int16_t lag);
  /// The host writes it before the pass, or reads it afterwards, or it is stored.
  void add_input(std::int32_t buffer);
  void hold(std::int32_t buffer);
  void store(std::int32_t buffer);
  /// After all uses are known.
  void end_uses();
  /// Lets results take the memory of operands that nobody needs any more. Of all tasks, those that
  /// lag less first.
  void share(const PassTask& task, std::int32_t place, std::span<const std::int32_t> uses);

  struct Peak {
    Bytes bytes{};
    CategoryBytes categories{};
  };
  /// `tasks`: all of the pass.
  Peak find_peak(std::span<const PassTask> tasks);
  /// Root buffers that outlive a step, each once.
  std::vector<std::int32_t> states();

 private:
  struct Life {
    std::int32_t parent = -1;  // the buffer whose memory it shares; itself: none
    std::int32_t first = 0, last = 0;
    std::int32_t pass = -1;  // that all this belongs to
    std::int16_t lag = 0;
    bool used = false, touched = false, outlives_pass = false, held = false, input = false;
    bool shares = false;  // from the start or since it took an operand's place
  };
  std::int32_t root_of(std::int32_t buffer);
  void touch(Life& life, std::int32_t place);
  bool can_take(std::int32_t place, std::span<const std::int32_t> uses, const InPlace& pair);

  BufferTable& buffers_;
  std::vector<Life> lives_;            // by buffer
  std::vector<std::int32_t> alive_;    // roots of this pass
  std::vector<std::int64_t> change_;   // by place: bytes that begin to live, less those that end
  std::vector<std::int32_t> counted_;  // by state: the pass in which it was last counted
  std::int32_t pass_ = 0, last_ = 0;
};

}  // namespace troika
