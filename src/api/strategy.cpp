#include <troika/strategy.h>

#include "api/plans.h"

namespace troika::api {

Machine this_machine() { return {.threads = internal::threads_here()}; }

Strategy Strategy::single() { return Strategy(internal::single_plan()); }
Strategy Strategy::load(const std::string& path) { return Strategy(internal::load_plan(path)); }
void Strategy::save(const std::string& path) const { internal::save_plan(*plan_, path); }
const std::string& Strategy::json() const { return internal::json_of(*plan_); }
bool Strategy::operator==(const Strategy& other) const {
  return internal::is_same(*plan_, *other.plan_);
}

}  // namespace troika::api
