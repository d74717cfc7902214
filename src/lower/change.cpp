#include "lower/change.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "lower/gradient_buckets.h"
#include "lower/update_moments.h"

namespace troika {
namespace {

void add(std::vector<std::int32_t>& numbers, std::span<const std::int32_t> more) {
  std::vector<std::int32_t> all;
  std::ranges::set_union(numbers, more, std::back_inserter(all));
  numbers = std::move(all);
}

/// The values that these jobs write: their moments follow the jobs.
void add_written(const Outline& outline, std::span<const std::int32_t> jobs, Touched& touched) {
  for (std::int32_t each : jobs) {
    const Job& job = outline.jobs[as_index(each)];
    touched.jobs.push_back(each);
    for (std::size_t use = 0; use < job.values.size(); ++use)
      if (job.values[use] >= 0 && job.phase->uses[use].access == Access::write)
        touched.values.push_back(job.values[use]);
  }
}

/// The values that an update takes part in.
void add_operands(const ProgramPlan& plan, std::span<const std::int32_t> updates,
                  Touched& touched) {
  for (std::int32_t each : updates) {
    const UpdatePlan& update = plan.updates[as_index(each)];
    touched.values.push_back(update.gradient);
    if (update.is_staged()) touched.values.push_back(update.norms);
  }
  add(touched.updates, updates);
}

/// The updates of touched weights and gradients.
std::vector<std::int32_t> updates_of(const ProgramPlan& plan, const Touched& touched) {
  std::vector<std::int32_t> found;
  auto is_touched = [&](std::int32_t value) {
    return value >= 0 && std::ranges::binary_search(touched.values, value);
  };
  for (std::size_t at = 0; at < plan.updates.size(); ++at) {
    const UpdatePlan& update = plan.updates[at];
    if (is_touched(update.weight) || is_touched(update.gradient) || is_touched(update.norms))
      found.push_back(static_cast<std::int32_t>(at));
  }
  return found;
}

bool has_operand_of(const std::vector<KernelUnit>& kinds, std::int32_t job) {
  auto is_of = [&](const ValueUse& operand) { return operand.job == job; };
  return std::ranges::any_of(kinds, [&](const KernelUnit& unit) {
    return std::ranges::any_of(unit.operands, is_of);
  });
}

/// The jobs at which touched jobs run as parts of fused tasks: their buffers are operands there.
/// Tiles of different kinds may run at different jobs, up to the one in `runs_at`.
void add_fused(const ProgramPlan& plan, Touched& touched) {
  std::vector<std::int32_t> found;
  for (std::int32_t job : touched.jobs)
    for (auto at = as_index(job) + 1; at <= plan.runs_at[as_index(job)]; ++at)
      if (has_operand_of(plan.units.jobs[at], job)) found.push_back(static_cast<std::int32_t>(at));
  if (found.empty()) return;
  std::ranges::copy(touched.jobs, std::back_inserter(found));
  touched.jobs = std::move(found);
  sort_all(touched);
}

}  // namespace

std::vector<std::int32_t> first_numbers(std::size_t count) {
  std::vector<std::int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Touched change_splits(ProgramPlan& plan, PlanTables& tables,
                      std::span<const std::int32_t> operators) {
  Touched touched = change(plan.distribution, {plan.request, operators}, tables);
  change_updates({plan.request, plan.distribution, plan.updates}, tables, touched);
  return touched;
}

void settle(ProgramPlan& plan, Touched& touched, std::span<const std::int32_t> decided) {
  const Outline& outline = plan.distribution.outline;
  add_written(outline, note_layouts(plan, decided), touched);
  add_users(outline, touched);
  add_operands(plan, plan_moments(plan), touched);
  add_users(outline, touched);
  add(touched.updates, updates_of(plan, touched));
  add_operands(plan, plan_buckets(plan, touched.updates), touched);
  add_users(outline, touched);
  add_fused(plan, touched);
}

void settle(ProgramPlan& plan) {
  plan.message_places.clear();
  for (const std::string& name : plan.request.strategy->sync.message_order)
    plan.message_places.emplace(name, static_cast<std::int32_t>(plan.message_places.size()));
  note_layouts(plan, first_numbers(plan.distribution.outline.jobs.size()));
  plan_moments(plan);
  plan_buckets(plan, first_numbers(plan.updates.size()));
}

}  // namespace troika
