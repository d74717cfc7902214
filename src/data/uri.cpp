#include "data/uri.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"

namespace troika::data {
namespace {

Error usage(const std::string& problem) { return {ErrorKind::usage, problem}; }

std::int64_t parse_bound(std::string_view text) {
  auto value = parse_number<std::int64_t>(text);
  if (!value || *value < 0)
    throw usage(fmt::format(
        "'{}' in the range is not a whole number >= 0; write [begin:end], [begin:] or [:end]",
        text));
  return *value;
}

/// Takes "[begin:end]" off the end of `rest`.
void take_range(Uri& uri, std::string_view& rest) {
  if (!rest.ends_with(']')) return;
  // From the end, because a path may contain any of these characters.
  std::size_t open = rest.rfind('[');
  if (open == std::string_view::npos) throw usage("']' without '['; write a range as [begin:end]");
  std::string_view inside = rest.substr(open + 1, rest.size() - open - 2);
  std::size_t colon = inside.find(':');
  if (colon == std::string_view::npos)
    throw usage("a range is written [begin:end], [begin:] or [:end]");
  if (colon > 0) uri.begin = parse_bound(inside.substr(0, colon));
  if (colon + 1 < inside.size()) uri.end = parse_bound(inside.substr(colon + 1));
  if (uri.end && *uri.end <= uri.begin)
    throw usage("the range is empty; its end must lie after its beginning");
  rest = rest.substr(0, open);
}

/// Takes "?key=value&key=value" off the end of `rest`.
void take_query(Uri& uri, std::string_view& rest) {
  std::size_t question = rest.rfind('?');
  if (question == std::string_view::npos) return;
  std::string_view query = rest.substr(question + 1);
  rest = rest.substr(0, question);
  while (true) {
    std::size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw usage(fmt::format("'{}' after '?' is not key=value", pair));
    if (!uri.query.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second)
      throw usage(fmt::format("'{}' is given twice; remove one", pair.substr(0, equals)));
    if (end == query.size()) return;
    query.remove_prefix(end + 1);
  }
}

}  // namespace

Uri parse_uri(std::string_view text) {
  Uri uri;
  std::size_t colon = text.find_first_of(":[?");
  if (colon == 0 || text.empty())
    throw usage("the scheme before ':' is missing; write for example digits:train or idx:DIR");
  uri.scheme = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  if (rest.starts_with(':')) rest.remove_prefix(1);
  take_range(uri, rest);
  take_query(uri, rest);
  uri.path = rest;
  return uri;
}

Range select(const Uri& uri, std::int64_t size) {
  Range range{uri.begin, uri.end.value_or(size)};
  if (range.end > size || range.begin >= size)
    throw usage(fmt::format("the range [{}:{}] does not lie within [0:{}]", uri.begin,
                            uri.end ? fmt::to_string(*uri.end) : "", size));
  return range;
}

void expect_keys(const Uri& uri, std::span<const std::string_view> known) {
  for (const auto& [key, value] : uri.query) {
    if (std::ranges::find(known, key) != known.end()) continue;
    throw usage(known.size() == 0 ? fmt::format("{}: takes no '{}='; remove it", uri.scheme, key)
                                  : fmt::format("unknown key '{}'; {}: knows {}", key, uri.scheme,
                                                fmt::join(known, ", ")));
  }
}

std::optional<std::int64_t> number_in_query(const Uri& uri, const std::string& key) {
  auto found = uri.query.find(key);
  if (found == uri.query.end()) return std::nullopt;
  auto value = parse_number<std::int64_t>(found->second);
  if (!value || *value < 1)
    throw usage(fmt::format("{} must be a whole number >= 1, not '{}'", key, found->second));
  return value;
}

}  // namespace troika::data
