#include <troika/error.h>
#include <troika/strategy.h>

#include "api/plan.h"
#include "base/durable_file.h"

namespace troika::api {

Machine this_machine(const MachineOptions& options) {
  return {.devices = options.devices, .threads = internal::threads_of_device(options.devices)};
}

Strategy Strategy::single() { return Strategy(internal::single_plan()); }
Strategy Strategy::parse(const std::string& json) { return Strategy(internal::normal_plan(json)); }

Strategy Strategy::load(const std::string& path) { return Strategy(internal::plan_of_file(path)); }

void Strategy::save(const std::string& path) const { replace_file(path, json_); }

}  // namespace troika::api
