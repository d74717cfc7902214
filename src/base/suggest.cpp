#include "base/suggest.h"

#include <algorithm>
#include <vector>

namespace troika {
namespace {

// A longer word is not a typing error, and the distance takes quadratic time.
constexpr std::size_t kLongestWord = 64;

/// One error in three characters, at least one and at most three.
std::size_t tolerated_distance(std::string_view word) {
  return std::clamp<std::size_t>(word.size() / 3, 1, 3);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table of prefixes: a swap of neighbours looks back two rows.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    // Rotates the rows; the oldest becomes the one to fill.
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string> nearest;
  // The first of equally near candidates wins.
  std::size_t least = tolerated_distance(word) + 1;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace troika
