#include "cost/table_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace troika {

using Json = nlohmann::ordered_json;

std::string to_json(const KernelTable& table, const std::string& device) {
  Json rows = Json::object();
  for (const auto& [key, candidates] : table.rows()) {
    Json list = Json::array();
    for (const Candidate& candidate : candidates) {
      Json layouts = Json::array();
      for (Layout layout : candidate.layouts) layouts.push_back(std::string(to_string(layout)));
      Json row{{"algorithm", candidate.algorithm},
               {"layouts", layouts},
               {"scratch", candidate.scratch.count}};
      if (candidate.time) row["nanoseconds"] = candidate.time->count;
      list.push_back(row);
    }
    rows[key] = list;
  }
  Json json{{"format", "troika costs 1"},
            {"device", device},
            {"hash", fmt::format("{:016x}", table.hash())},
            {"kernels", rows}};
  return json.dump(1) + "\n";
}

}  // namespace troika
