#include "api/plan.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "api/plans.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "setup/hosts.h"

namespace troika::internal {

int threads_here() { return usable_threads(); }

std::shared_ptr<const Plan> single_plan() {
  Strategy single = Strategy::single();
  return std::make_shared<const Plan>(Plan{single, to_json(single)});
}

std::shared_ptr<const Plan> load_plan(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(ErrorKind::file, fmt::format("the plan {} cannot be read", path));
  try {
    return std::make_shared<const Plan>(Plan{parse_strategy(text), text});
  } catch (const Error& error) {
    throw error.within(path);
  }
}

void save_plan(const Plan& plan, const std::string& path) { replace_file(path, plan.json); }

const std::string& json_of(const Plan& plan) { return plan.json; }

bool is_same(const Plan& one, const Plan& other) { return one.strategy == other.strategy; }

}  // namespace troika::internal
