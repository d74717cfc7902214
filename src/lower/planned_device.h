// What a device has under a plan: its tiles and its buffers, by what they are for.
#pragma once

#include <optional>
#include <span>

#include "lower/planned_tasks.h"

namespace troika {

/// One buffer serves all micro-batches.
bool is_made_once(ValueKind kind);

struct PlannedBuffer {
  BufferRef ref;
  TensorSpec spec;
  Layout layout = Layout::plain;
  Category category = Category::workspace;
  bool persistent = false;
  std::optional<BufferRef> view_of{};
  Bytes view_offset{}, padding{};
  /// Of a value that a tile wrote, or a stored part: the tile or place, among those of all devices,
  /// and which of the value's contributions it is.
  std::int32_t tile = -1, contribution = 0;
};

/// Borrows the plan.
class PlannedDevice {
 public:
  PlannedDevice(const ProgramPlan& plan, std::int32_t device) : plan_(plan), device_(device) {}

  std::int32_t number() const { return device_; }
  std::span<const std::int32_t> tiles_here(TileSetId set) const;
  /// The place of a tile among those of its set on this device.
  std::int32_t place_of(TileSetId set, std::int32_t tile) const;
  std::int32_t kind_of(TileSetId set, std::int32_t tile) const;
  /// The number of a stored part among those of all devices.
  std::int32_t stored_place(std::size_t update, std::int32_t place) const;

  /// A buffer of a value's redistribution, by its number in that.
  BufferRef buffer(std::size_t value, std::int32_t micro_batch, std::int32_t number) const;
  /// The buffer that tile of a contribution writes, or that is stored.
  BufferRef written(std::size_t value, std::int32_t micro_batch, std::size_t contribution,
                    std::int32_t tile) const;
  /// The buffer that reader `role` of a value finds for its tile.
  BufferRef read_by(std::size_t value, std::int32_t micro_batch, std::int32_t role,
                    std::int32_t tile) const;

  Layout layout_of(const BufferRef& ref) const;
  TensorSpec spec_of(const BufferRef& ref) const;
  /// With its padding, as it lies.
  Bytes bytes_of(const BufferRef& ref) const;
  /// The job, and of it the micro-batch and tile, that gives another value a new shape, if that is
  /// all that the buffer is.
  struct View {
    std::size_t job;
    std::int32_t micro_batch, tile;
  };
  std::optional<View> view_of(const BufferRef& ref) const;
  /// What such a buffer is a view of.
  std::optional<BufferRef> viewed(const BufferRef& ref) const;
  PlannedBuffer describe(const BufferRef& ref) const;

  /// Elements behind the end of a stored part, so that all its owners have slices of one length.
  std::int64_t padding_of(std::size_t update, std::int32_t place) const;
  /// Boxes of a stored part that no part before it has.
  std::span<const Region> counted(std::size_t update, std::int32_t place) const;
  /// Whether a message sums a gradient that is updated in slices.
  bool is_scattered(std::size_t update, std::int32_t message) const;

 private:
  struct Origin {
    std::size_t contribution;
    std::int32_t tile;
  };
  const DistributedValue& value(std::size_t at) const { return plan_.distribution.values[at]; }
  const Outline& outline() const { return plan_.distribution.outline; }
  TileSetId set_of(std::size_t value, std::size_t contribution) const;
  /// Who writes a value's buffer; nothing if a step makes it.
  std::optional<Origin> origin_of(const BufferRef& ref) const;
  Layout state_layout(const BufferRef& ref) const;
  void describe_value(PlannedBuffer& made) const;
  void describe_stored(PlannedBuffer& made, const Origin& origin) const;
  void describe_moved(PlannedBuffer& made) const;
  void describe_slice(PlannedBuffer& made) const;
  void describe_counted(PlannedBuffer& made) const;
  void describe_totals(PlannedBuffer& made) const;
  void describe_bucket(PlannedBuffer& made) const;
  TensorSpec spec_of_zeros(const BufferRef& ref) const;
  void join_message(PlannedBuffer& made) const;

  const ProgramPlan& plan_;
  std::int32_t device_;
};

/// Of the sums that every device knows: losses, norms, requests.
inline const TensorSpec kOneNumber{{1}, DType::f64};

}  // namespace troika
