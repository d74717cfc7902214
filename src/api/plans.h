// What a public Strategy refers to. Sources that see the public type include this header, those
// that see the library's own include plan.h: no source can name both.
#pragma once

#include <memory>
#include <string>

namespace troika::internal {

struct Plan;

std::shared_ptr<const Plan> single_plan();
/// Throws Error(file).
std::shared_ptr<const Plan> load_plan(const std::string& path);
void save_plan(const Plan& plan, const std::string& path);
const std::string& json_of(const Plan& plan);
bool is_same(const Plan& one, const Plan& other);

/// Threads that this process may keep busy.
int threads_here();

}  // namespace troika::internal
