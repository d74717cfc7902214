#include "lower/names.h"

#include <fmt/format.h>

namespace troika {

std::string to_string(const SliceName& slice) {
  bool is_part = slice.region != Region::whole(slice.whole);
  std::string text = slice.name;
  if (is_part || slice.has_peers) text += to_string(slice.region);
  return slice.has_peers ? fmt::format("{}@{}", text, slice.device) : text;
}

std::string part_name(const std::string& name, std::int64_t part, std::int64_t parts) {
  return parts == 1 ? name : fmt::format("{}#{}", name, part);
}

}  // namespace troika
