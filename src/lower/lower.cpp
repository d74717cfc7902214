#include "lower/lower.h"

#include <algorithm>

#include "lower/bucket_gradients.h"
#include "lower/carry_updates.h"
#include "lower/choose_algorithms.h"
#include "lower/choose_kernels.h"
#include "lower/close_loss.h"
#include "lower/draft.h"
#include "lower/expand_backward.h"
#include "lower/expand_forward.h"
#include "lower/fixed_choices.h"
#include "lower/fuse.h"
#include "lower/insert_updates.h"
#include "lower/order_tasks.h"
#include "lower/place_buffers.h"
#include "lower/plan_program.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

/// Everything that does not depend on kernels.
TaskGraph expand(const LowerRequest& request) {
  FragmentCache own;
  Draft draft = start_draft(request, request.fragments != nullptr ? *request.fragments : own);
  bool trains = request.optimizer != nullptr;
  for (std::int64_t part = 0; part < request.strategy->micro_batches; ++part) {
    expand_forward(draft, part);
    if (trains && part + 1 == request.strategy->micro_batches) close_loss(draft);
    if (trains) expand_backward(draft, part);
  }
  hold_outputs(draft);
  if (trains) insert_updates(draft);
  order_updates(draft.tasks);
  verify(draft.tasks, Stage::expanded);
  return std::move(draft.tasks);
}

/// Of every task, and of every chain that might be fused; each once, by kind and text.
std::vector<KernelRequest> requests_of(const TaskGraph& tasks, const Machine& machine) {
  KernelTable distinct;
  auto add = [&](DeviceId device, const KernelKey& key) {
    KernelRows& rows = distinct.of(machine[device].kind);
    if (rows.find(key) == nullptr) rows.insert(key, {});
  };
  for (const Task& task : tasks.tasks)
    if (task.computes()) add(task.device, task.key);
  for (const FusedChain& chain : find_chains(tasks))
    add(tasks.tasks[chain.tasks.front()].device, chain.key);
  std::vector<KernelRequest> requests;
  for (const auto& [kind, rows] : distinct.kinds())
    for (const auto& [text, row] : rows.rows_by_text()) requests.push_back({kind, row->key});
  return requests;
}

}  // namespace

std::vector<KernelRequest> rows_needed(const LowerRequest& request) {
  return rows_of_plan(request);
}

LowerResult lower(const LowerRequest& request, const KernelTable& table) {
  return lower_planned(request, table);
}

LowerResult lower_old(const LowerRequest& request, const KernelTable& table);
LowerResult lower_old(const LowerRequest& request, const KernelTable& table) {
  if (auto reason = why_infeasible(*request.strategy, *request.graph, *request.machine))
    return Infeasible{*reason};
  if (auto reason = why_no_algorithms(request.strategy->sync)) return Infeasible{*reason};
  TaskGraph tasks = expand(request);
  MissingRows missing;
  for (KernelRequest& row : requests_of(tasks, *request.machine))
    if (table.find(row.kind, row.key) == nullptr) missing.rows.push_back(std::move(row));
  if (!missing.rows.empty()) return missing;

  const Sync& sync = request.strategy->sync;
  GivenChoices given;
  if (sync.fixed_order && request.machine->devices.size() > 1) {
    auto alone = choices_on_one_device(request, table);
    if (auto* lacking = std::get_if<MissingRows>(&alone)) return *lacking;
    given = std::get<GivenChoices>(std::move(alone));
  }

  fuse(tasks, *request.machine, table);
  verify(tasks, Stage::expanded);
  if (auto unanswered = choose_kernels(
          tasks, table, {*request.machine, request.storage, given, sync.sliced_update});
      !unanswered.empty())
    return MissingRows{unanswered};
  verify(tasks, Stage::chosen);
  start_early(tasks);
  bucket_gradients(tasks, sync.bucket);
  finish_late(tasks);
  if (!sync.overlap) wait_at_once(tasks);
  if (sync.overlap && sync.carry_updates) carry_updates(tasks);
  LinkCosts links = request.links != nullptr ? *request.links : assumed_link_costs();
  choose_algorithms(tasks, {*request.machine, links, sync});
  verify(tasks, Stage::chosen);
  place_buffers(tasks, *request.machine, table);
  tasks.dependencies = find_dependencies(tasks);
  verify(tasks, Stage::placed);
  return tasks;
}

}  // namespace troika
