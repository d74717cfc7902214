#include "cli/number_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace troika::cli {
namespace {

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

std::string describe_allowed(const WholeNumbers& allowed) {
  return allowed.most == WholeNumbers{}.most
             ? fmt::format("a whole number of at least {}", allowed.least)
             : fmt::format("a whole number from {} to {}", allowed.least, allowed.most);
}

}  // namespace

CLI::Option* take_whole(CLI::Option* option, const WholeNumbers& allowed) {
  return option->check([allowed](const std::string& text) -> std::string {
    std::optional<std::int64_t> number = parse_number<std::int64_t>(text);
    bool has_no_limit = allowed.most == WholeNumbers{}.most;
    if (number && *number > allowed.most && has_no_limit)
      return fmt::format("'{}' is too large", text);
    if (number && *number >= allowed.least && *number <= allowed.most) return {};
    return fmt::format("'{}' is not {}", text, describe_allowed(allowed));
  });
}

CLI::Option* take_number(CLI::Option* option, Zero zero) {
  return option->check([zero](const std::string& text) -> std::string {
    std::optional<double> number = parse_number<double>(text);
    bool is_fit =
        number && std::isfinite(*number) && (zero == Zero::allowed ? *number >= 0 : *number > 0);
    if (is_fit) return {};
    return fmt::format("'{}' is not a number {}", text,
                       zero == Zero::allowed ? "of at least 0" : "above 0");
  });
}

}  // namespace troika::cli
