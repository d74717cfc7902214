// The name of a data set: scheme:path?key=value&key=value[begin:end], where query and range may be
// left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/region.h"

namespace troika::data {

struct Uri {
  std::string scheme;
  std::string path;
  std::map<std::string, std::string> query;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;  ///< Absent: to the end of the set.
};

/// Throws Error(usage) with the reason; the caller adds the text.
Uri parse_uri(std::string_view text);

/// The part of a set of `size` samples or tokens that the name selects; throws Error(usage) if it
/// is empty or out of bounds.
Range select(const Uri& uri, std::int64_t size);

/// Throws Error(usage) when the query has a key not in `known`.
void expect_keys(const Uri& uri, std::span<const std::string_view> known);
/// A whole number >= 1 from the query, if the key is present; throws Error(usage) for other values.
std::optional<std::int64_t> number_in_query(const Uri& uri, const std::string& key);

}  // namespace troika::data
