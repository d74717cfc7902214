#include "optim/match.h"

namespace troika {

// Only the last '*' can need another try, so one remembered position is enough: at most pattern *
// name steps.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t after_star = std::string_view::npos;
  std::size_t retry_from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      retry_from = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      n = ++retry_from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<std::size_t> first_match(std::span<const std::string> patterns,
                                       std::string_view name) {
  for (std::size_t index = 0; index < patterns.size(); ++index) {
    if (matches(patterns[index], name)) return index;
  }
  return std::nullopt;
}

}  // namespace troika
