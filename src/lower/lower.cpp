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
#include "lower/key_memory.h"
#include "lower/order_tasks.h"
#include "lower/place_buffers.h"
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

/// Of every task, and of every chain that might be fused; each once.
std::vector<KernelKey> keys_of(const TaskGraph& tasks) {
  std::map<std::string, KernelKey> distinct;
  KeyMemory<bool> seen;
  auto add = [&](const KernelKey& key) {
    seen.answer(key, [&] { return distinct.emplace(to_text(key), key).second; });
  };
  for (const Task& task : tasks.tasks)
    if (task.computes()) add(task.key);
  for (const FusedChain& chain : find_chains(tasks)) add(chain.key);
  std::vector<KernelKey> keys;
  for (auto& [text, key] : distinct) keys.push_back(key);
  return keys;
}

}  // namespace

std::vector<KernelKey> rows_needed(const LowerRequest& request) { return keys_of(expand(request)); }

LowerResult lower(const LowerRequest& request, const KernelTable& table) {
  if (auto reason = why_infeasible(*request.strategy, *request.graph, *request.machine))
    return Infeasible{*reason};
  if (auto reason = why_no_algorithms(request.strategy->sync)) return Infeasible{*reason};
  TaskGraph tasks = expand(request);
  MissingRows missing;
  for (const KernelKey& key : keys_of(tasks))
    if (table.find(key) == nullptr) missing.keys.push_back(key);
  if (!missing.keys.empty()) return missing;

  const Sync& sync = request.strategy->sync;
  GivenChoices given;
  if (sync.fixed_order && request.machine->devices.size() > 1) {
    auto alone = choices_on_one_device(request, table);
    if (auto* lacking = std::get_if<MissingRows>(&alone)) return *lacking;
    given = std::get<GivenChoices>(std::move(alone));
  }

  fuse(tasks, table);
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
  place_buffers(tasks, table);
  tasks.dependencies = find_dependencies(tasks);
  verify(tasks, Stage::placed);
  return tasks;
}

}  // namespace troika
