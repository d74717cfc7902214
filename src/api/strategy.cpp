#include <troika/error.h>
#include <troika/strategy.h>

#include "api/plan.h"
#include "base/durable_file.h"
#include "base/mapped_file.h"

namespace troika::api {
namespace {

constexpr std::size_t kLargestPlan = 64u << 20;  // bytes of a plan file

}  // namespace

Machine this_machine(const MachineOptions& options) {
  return {.devices = options.devices, .threads = internal::threads_of_device(options.devices)};
}

Strategy Strategy::single() { return Strategy(internal::single_plan()); }
Strategy Strategy::parse(const std::string& json) { return Strategy(internal::normal_plan(json)); }

Strategy Strategy::load(const std::string& path) {
  std::string text = read_small_file(path, kLargestPlan);
  try {
    return parse(text);
  } catch (const Error& error) {
    throw error.within(path);
  }
}

void Strategy::save(const std::string& path) const { replace_file(path, json_); }

}  // namespace troika::api
