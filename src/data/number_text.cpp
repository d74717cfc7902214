#include "data/number_text.h"

#include <charconv>

namespace troika::data {
namespace {

template <class T>
std::optional<T> parse(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value{};
  const char* end = text.data() + text.size();
  auto [rest, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || rest != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_double(std::string_view text) { return parse<double>(text); }
std::optional<std::int64_t> parse_whole(std::string_view text) { return parse<std::int64_t>(text); }

}  // namespace troika::data
