#include "cost/algorithm_ranges.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "collective/algorithms.h"
#include "collective/by_mpi.h"

namespace troika {
namespace {

constexpr const char* kExample = "recursive_doubling:0-8KiB;ring:8KiB-max";

[[noreturn]] void refuse(std::string_view part, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("'{}' in the algorithm ranges: {}; an example is '{}'",
                                            part, why, kExample));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Bytes parse_size(std::string_view part, std::string_view text) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    refuse(part, error.what());
  }
}

AlgorithmRange parse_one(std::string_view part, Collective kind) {
  std::size_t colon = part.find(':');
  if (colon == part.npos) refuse(part, "there is no ':' between algorithm and sizes");
  std::string_view name = trim(part.substr(0, colon)), sizes = trim(part.substr(colon + 1));
  try {
    if (name != kByMpi) find_algorithm(kind, name);  // no recipe, but offered where ranks meet
  } catch (const Error& error) {
    refuse(part, error.what());
  }
  std::size_t dash = sizes.find('-');
  if (dash == sizes.npos) refuse(part, "the sizes are not of the form FROM-TO");
  std::string_view from = trim(sizes.substr(0, dash)), to = trim(sizes.substr(dash + 1));
  AlgorithmRange range{.algorithm = std::string(name), .from = parse_size(part, from)};
  if (to != "max") range.to = parse_size(part, to);
  if (range.to && *range.to <= range.from) refuse(part, "the range is empty");
  return range;
}

}  // namespace

AlgorithmRanges parse_algorithm_ranges(std::string_view text, Collective kind) {
  AlgorithmRanges ranges;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(';'), text.size());
    std::string_view part = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty() && text.empty() && !ranges.empty()) break;  // a closing semicolon
    ranges.push_back(parse_one(part, kind));
  }
  if (ranges.empty()) refuse("", "there is no range");
  // Sorted by their beginnings, ranges overlap only if two neighbours do.
  std::ranges::stable_sort(ranges, {}, &AlgorithmRange::from);
  for (std::size_t next = 1; next < ranges.size(); ++next) {
    const AlgorithmRange &before = ranges[next - 1], &range = ranges[next];
    if (!before.to || *before.to > range.from)
      refuse(fmt::format("{}:{}-…", range.algorithm, range.from.count),
             fmt::format("it overlaps the range of '{}' before it", before.algorithm));
  }
  return ranges;
}

const AlgorithmRange* find_range(const AlgorithmRanges& ranges, Bytes bytes) {
  auto found = std::ranges::find_if(ranges, [&](const AlgorithmRange& range) {
    return range.from <= bytes && (!range.to || bytes < *range.to);
  });
  return found == ranges.end() ? nullptr : &*found;
}

}  // namespace troika
