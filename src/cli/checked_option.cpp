#include "cli/checked_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/number_text.h"
#include "base/suggest.h"

namespace troika::cli {
namespace {

std::string describe_allowed(const WholeNumbers& allowed, bool is_large) {
  if (allowed.most == WholeNumbers{}.most && !is_large)
    return fmt::format("a whole number of at least {}", allowed.least);
  return fmt::format("a whole number from {} to {}", allowed.least, allowed.most);
}

}  // namespace

CLI::Option* take_whole(CLI::Option* option, const WholeNumbers& allowed) {
  return option->check([allowed](const std::string& text) -> std::string {
    std::optional<std::int64_t> number = parse_number<std::int64_t>(text);
    if (number && *number >= allowed.least && *number <= allowed.most) return {};
    bool is_large = number && *number > allowed.most;
    return fmt::format("takes {}, not '{}'", describe_allowed(allowed, is_large), text);
  });
}

CLI::Option* take_number(CLI::Option* option, Zero zero) {
  return option->check([zero](const std::string& text) -> std::string {
    std::optional<double> number = parse_number<double>(text);
    bool is_fit =
        number && std::isfinite(*number) && (zero == Zero::allowed ? *number >= 0 : *number > 0);
    if (is_fit) return {};
    return fmt::format("takes a number {}, not '{}'",
                       zero == Zero::allowed ? "of at least 0" : "above 0", text);
  });
}

CLI::Option* take_word(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check([words](const std::string& text) -> std::string {
    if (std::ranges::count(words, text) > 0) return {};
    std::string near;
    if (auto word = closest(text, words)) near = fmt::format("; did you mean '{}'?", *word);
    return fmt::format("takes '{}', not '{}'{}", fmt::join(words, "' or '"), text, near);
  });
}

}  // namespace troika::cli
