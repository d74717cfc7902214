#include "optim/match.h"

namespace troika {

// Backtracking to the last '*' is enough, because an earlier one cannot match more usefully. The
// time is at most the product of the two lengths.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t after_star = std::string_view::npos;
  std::size_t retry_from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      // The star first matches nothing; each retry below lets it match one character more.
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

}  // namespace troika
