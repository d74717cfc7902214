// Numbers written as text, the same in every locale. A leading "+" is accepted.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace troika {

/// Removes a number from the front of the text; without one there, returns nothing and leaves the
/// text unchanged. T is an arithmetic type; a floating number may be infinite or NaN.
template <class T>
std::optional<T> take_number(std::string_view& text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  T value{};
  auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

/// The number that the whole text is. "3.0" is not an integer.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  std::optional<T> value = take_number<T>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace troika
