// Quantities as types: bytes, floating-point operations, and virtual time in whole nanoseconds.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace troika {

template <class Tag>
struct Quantity {
  std::int64_t count = 0;

  auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return count += other.count, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.count + b.count}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.count - b.count}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t times) { return {a.count * times}; }
};

using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;
using SimTime = Quantity<struct SimTimeTag>;  ///< Virtual nanoseconds.

/// "1.5 MiB", "312 B".
std::string to_string(Bytes bytes);
/// "12.3 ms", "950 ns".
std::string to_string(SimTime time);

/// 1234567 → "1,234,567"
std::string with_commas(std::int64_t number);

/// Reads "64MiB", "10 KB", "512"; throws Error(usage) naming the text otherwise.
Bytes parse_bytes(std::string_view text);
/// Reads "10m", "30s", "500ms", "2h" into seconds; throws Error(usage) naming the text otherwise.
double parse_seconds(std::string_view text);

}  // namespace troika
