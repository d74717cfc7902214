// The buffers of one device by number, with their memory. Descriptions are kept until what they
// depend on is emitted again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lower/folding.h"

namespace troika {

/// The memory of a buffer.
struct BufferMemory {
  std::int64_t bytes = 0;
  std::int64_t aligned = 0;   ///< As it lies in an arena.
  Bytes plain{};              ///< Of a state that lies in another layout: its plain form.
  std::int32_t view_of = -1;  ///< The buffer whose memory it shares.
  std::int32_t state = -1;    ///< Of a state: buffers with the same number are stored once.
  Category category = Category::workspace;
  bool persistent = false;
};

struct BufferRefHash {
  std::size_t operator()(const BufferRef& ref) const;
};

/// Grows with what is asked. Borrows the plan.
class BufferTable {
 public:
  BufferTable(const ProgramPlan& plan, std::int32_t device) : plan_(plan), here_(plan, device) {}

  /// Descriptions of older versions are made again when they are asked for.
  void set_versions(const Folding::Versions& versions);
  std::int32_t number_of(const BufferRef& ref);
  /// The buffer must be one of the plan as it is now. Valid until a number is given.
  const BufferMemory& operator[](std::int32_t buffer);
  std::size_t size() const { return all_.size(); }
  const PlannedDevice& device() const { return here_; }

 private:
  struct Known {
    BufferRef ref;
    std::uint64_t version = 0;
    BufferMemory memory{};
  };
  std::uint64_t version_for(const BufferRef& ref) const;
  BufferMemory describe(std::int32_t buffer, const BufferRef& ref);
  std::int32_t state_of(std::int32_t buffer, const PlannedBuffer& planned);

  const ProgramPlan& plan_;
  const PlannedDevice here_;
  const Folding::Versions* versions_ = nullptr;
  std::uint64_t updates_version_ = 0;  // the greatest of all updates
  std::unordered_map<BufferRef, std::int32_t, BufferRefHash> numbers_;
  std::vector<Known> all_;
  std::map<std::string, std::int32_t> zeros_;  // by type and shape: a number
};

}  // namespace troika
