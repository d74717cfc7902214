// Some of the layouts.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/layout.h"

namespace troika {

/// A set of layouts, in the order of their numbers.
class LayoutSet {
 public:
  LayoutSet() = default;
  LayoutSet(Layout layout) : bits_(bit(layout)) {}

  static LayoutSet all() {
    LayoutSet made;
    made.bits_ = (1u << kLayoutCount) - 1;
    return made;
  }

  bool empty() const { return bits_ == 0; }
  bool contains(Layout layout) const { return (bits_ & bit(layout)) != 0; }
  void insert(LayoutSet others) { bits_ |= others.bits_; }
  void intersect(LayoutSet others) { bits_ &= others.bits_; }
  void erase(Layout layout) { bits_ &= ~bit(layout); }
  /// Precondition: it is not empty.
  Layout first() const { return static_cast<Layout>(std::countr_zero(bits_)); }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (LayoutSet left = *this; !left.empty(); left.erase(left.first())) visit(left.first());
  }
  bool operator==(const LayoutSet&) const = default;

 private:
  static std::uint32_t bit(Layout layout) { return 1u << static_cast<unsigned>(layout); }

  std::uint32_t bits_ = 0;
};

}  // namespace troika
