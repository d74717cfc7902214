// Strongly typed integer ids: a TaskId does not convert to a BufferId, nor either to an int. A
// default id is invalid.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace troika {

template <class Tag>
struct Id {
  std::int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value(static_cast<std::int32_t>(index)) {}
  constexpr bool valid() const { return value >= 0; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  auto operator<=>(const Id&) const = default;
};

/// A number out of a compact list, as an index.
constexpr std::size_t as_index(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace troika

template <class Tag>
struct std::hash<troika::Id<Tag>> {
  std::size_t operator()(troika::Id<Tag> id) const { return std::hash<std::int32_t>{}(id.value); }
};
