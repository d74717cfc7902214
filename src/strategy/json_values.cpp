#include "strategy/json_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"

namespace troika::plan_json {

void refuse(const std::string& sentence) { throw Error(ErrorKind::file, sentence); }

void refuse_value(const std::string& value, const std::string& what, const std::string& needed) {
  refuse(fmt::format("the plan has {} for {}; {} is needed", value, what, needed));
}

void require_known_keys(const std::vector<std::string>& keys, const std::string& where,
                        const std::vector<std::string>& known) {
  std::string unknown;
  for (const std::string& key : keys) {
    if (std::ranges::find(known, key) != known.end()) continue;
    auto near = closest(key, known);
    unknown += fmt::format("{}'{}'{}", unknown.empty() ? "" : ", ", key,
                           near ? fmt::format(" (did you mean '{}'?)", *near) : "");
  }
  if (!unknown.empty())
    refuse(fmt::format("the plan has unknown keys in {}: {}; known are {}", where, unknown,
                       fmt::join(known, ", ")));
}

}  // namespace troika::plan_json
