// Where the state of a model is stored, on the devices of all ranks. Every rank has the same list,
// so each can tell who stores what without the task graphs of others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "tensor/layout.h"
#include "tensor/region.h"
#include "tensor/tensor_spec.h"

namespace troika {

/// What a buffer's bytes are counted as in the memory table.
enum class Category { parameter, gradient, optimizer, activation, workspace };
std::string_view to_string(Category category);

/// A buffer that holds a region of a tensor.
struct StoredPlace {
  DeviceId device;
  Region region;
  /// Only these elements of the region, in row-major order; unset: all of them.
  std::optional<Range> run{};
  Layout layout = Layout::plain;

  bool operator==(const StoredPlace&) const = default;
};

/// Sorted by device.
using StoredPlaces = std::vector<StoredPlace>;

/// A parameter or an optimizer state.
struct StateEntry {
  std::string name;
  TensorSpec spec;  ///< Of the whole tensor.
  Category category = Category::parameter;
  /// Tensors that are stored alike share one list, because it is as long as there are devices.
  std::shared_ptr<const StoredPlaces> places;
  std::size_t merged = 1;  ///< Of the parameter: leading dimensions that are one in files.

  bool operator==(const StateEntry& other) const;
};

/// The tensor as files of weights and checkpoints have it: the same elements, with PyTorch's shape.
TensorSpec file_spec(const StateEntry& tensor);

/// Boxes of a place, each with where it begins in the buffer, in elements.
std::vector<RunBox> boxes_of(const StoredPlace& place);

/// Null: no tensor has that name.
const StateEntry* find_entry(const std::vector<StateEntry>& storage, const std::string& name);
/// The place of just this region on a device. Null: there is none.
const StoredPlace* find_place(const StateEntry& tensor, DeviceId device, const Region& region);

/// Appends the tensors that are not known yet: the first program that stores one decides where.
void add_entries(std::vector<StateEntry>& known, const std::vector<StateEntry>& more);

}  // namespace troika
