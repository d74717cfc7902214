// The splits that a search chooses from, operator by operator: a finite space whose size is known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lower/outline.h"
#include "strategy/strategy.h"

namespace troika {

struct MenuOptions {
  /// Device numbers are digits: those of nodes, then those of devices inside a node, by prime
  /// factors. A view gives runs of neighbouring digits to an axis, to replicas, or a fixed value.
  /// More runs make more views; 0: as many as keep menus below `most_splits`, at most 3.
  int runs = 0;
  std::size_t most_splits = 1500;
  std::int64_t micro_batches = 1;
  /// Numbers of chunks that recurrent layers may be cut into besides single steps; empty: they stay
  /// whole.
  std::vector<std::int64_t> chunks{2, 4, 8};
  /// False: operators are on all devices, or whole on device 0.
  bool uses_some_devices = true;
  /// Operators, by their place in the graph, that have one split to choose from: this one.
  std::map<std::size_t, Split> fixed{};
};

/// A machine of more devices, for which a search looks at nothing device by device.
inline bool is_large(const Machine& machine) { return machine.devices.size() > 128; }
/// Those of a search: for large machines only splits over all devices. Operators that the program
/// leaves out, such as those for metrics, keep the splits of data parallelism.
MenuOptions search_menus(const IndexedGraph& index, const LowerRequest& request);

/// All splits of one operator, each feasible for it, without repeats, the whole on device 0 first
/// unless its split is fixed. Equal operators share a menu.
class SplitMenus {
 public:
  SplitMenus(const IndexedGraph& index, const Machine& machine, const MenuOptions& options = {});

  const std::vector<Split>& of(std::size_t op) const { return menus_[menu_of_[op]]->splits; }
  /// The places of splits that give each device one tile, all of them equally large.
  const std::vector<std::size_t>& even(std::size_t op) const { return menus_[menu_of_[op]]->even; }
  /// The place of a split in the operator's menu; nothing if it is not in it.
  std::optional<std::size_t> find(std::size_t op, const Split& split) const;
  std::size_t count() const { return menu_of_.size(); }
  /// Equal numbers for operators that share a menu.
  std::size_t menu_of(std::size_t op) const { return menu_of_[op]; }
  /// The number of strategies, as its decimal logarithm.
  double log10_size() const;
  /// The same as an integer; saturates.
  std::uint64_t size() const;

 private:
  struct Menu {
    std::vector<Split> splits;
    std::vector<std::size_t> even;
    std::unordered_map<std::string, std::size_t> places;  // by text
  };
  std::vector<std::unique_ptr<Menu>> menus_;
  std::vector<std::size_t> menu_of_;  // by operator
};

/// Equal for operators that have equal menus.
std::string subject_text(const IndexedGraph& index, std::size_t op);

/// A digit of a device's number.
struct DeviceDigit {
  std::int64_t count = 1;
  std::int64_t stride = 1;

  bool operator==(const DeviceDigit&) const = default;
};
/// Outermost first. Nodes of unequal size, or devices that are not in the order of their nodes,
/// give the prime factors of the number of devices.
std::vector<DeviceDigit> device_digits(const Machine& machine);

/// The split without factors of degree 1, and with neighbouring cuts of one axis as one. If parts
/// are not equally long, the lengths of some may be exchanged.
Split normalised(Split split);

/// A short text that is equal for equal splits: "n=4/8 o=2/1 from 0", "whole from 3".
std::string to_text(const Split& split);

}  // namespace troika
