#include "search/operator_times.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "taskgraph/critical_path.h"

namespace troika {
namespace {

/// The kernel of an operator that a task of a row counts for.
struct Counted {
  OperatorPlace op = -1;
  SimTime OperatorTime::*kernels = &OperatorTime::update;
};

SimTime OperatorTime::*kernels_of(const Task& task) {
  if (task.is_update) return &OperatorTime::update;
  return is_backward(task.key.phase) ? &OperatorTime::backward : &OperatorTime::forward;
}

/// By place in the row: of each task itself or of the next one behind it.
std::vector<Counted> next_owned(const TaskGraph& graph, const PassRow& row,
                                const TaskOwners& owners) {
  std::vector<Counted> next(row.tasks.size());
  Counted now;
  for (std::size_t at = row.tasks.size(); at-- > 0;) {
    const Task& task = graph.tasks[row.tasks[at].task];
    if (OperatorPlace owner = owners.kernel_owner(task); owner >= 0)
      now = {owner, kernels_of(task)};
    next[at] = now;
  }
  return next;
}

SimTime OperatorTime::*column_of(TimeUse use, const Counted& counted) {
  switch (use) {
    case TimeUse::compute:
    case TimeUse::optimizer:
      return counted.kernels;
    case TimeUse::message:
    case TimeUse::moving:
      return &OperatorTime::messages;
    case TimeUse::late_peer:
    case TimeUse::other:
    case TimeUse::step_end:
      return &OperatorTime::waiting;
  }
  throw Bug("time for nothing");
}

PathSort sort_of(const TaskGraph& graph, const PathPart& part, const TaskOwners& owners) {
  const Task& task = graph.tasks[part.task];
  if (part.kind == PathPart::Kind::gap) return PathSort::gap;
  if (!task.computes())
    return moves_parameter_gradient(task) ? PathSort::gradient_sum : PathSort::message;
  if (owners.kernel_owner(task) < 0) return PathSort::copy;
  if (task.is_update) return PathSort::update;
  return is_backward(task.key.phase) ? PathSort::backward : PathSort::forward;
}

OperatorPlace owner_of(const TaskGraph& graph, const PathPart& part, const TaskOwners& owners) {
  if (part.kind == PathPart::Kind::gap) return -1;
  const Task& task = graph.tasks[part.task];
  OperatorPlace owner = owners.kernel_owner(task);
  return owner >= 0 ? owner : owners.moved_for(task);
}

}  // namespace

OperatorTime& OperatorTime::operator+=(const OperatorTime& other) {
  forward += other.forward;
  backward += other.backward;
  update += other.update;
  messages += other.messages;
  waiting += other.waiting;
  return *this;
}

OperatorTime DeviceTimes::sum() const {
  OperatorTime all = rest;
  for (const OperatorTime& time : of_operator) all += time;
  return all;
}

std::vector<DeviceTimes> operator_times(const TaskGraph& graph, const LoopPass& pass,
                                        const TaskOwners& owners, std::size_t operators) {
  std::vector<RowPieces> pieces = time_pieces(graph, pass);
  std::vector<DeviceTimes> all;
  for (std::size_t row = 0; row < pass.rows.size(); ++row) {
    std::vector<Counted> next = next_owned(graph, pass.rows[row], owners);
    DeviceTimes& made = all.emplace_back(DeviceTimes{
        .device = pass.rows[row].device, .of_operator = std::vector<OperatorTime>(operators)});
    for (const TimePiece& piece : pieces[row]) {
      bool is_rest = piece.use == TimeUse::step_end || next[piece.at].op < 0;
      OperatorTime& time = is_rest ? made.rest : made.of_operator[as_index(next[piece.at].op)];
      time.*column_of(piece.use, next[piece.at]) += piece.time;
    }
  }
  return all;
}

std::string_view to_string(PathSort sort) {
  switch (sort) {
    case PathSort::forward:
      return "forward";
    case PathSort::backward:
      return "backward";
    case PathSort::update:
      return "updates";
    case PathSort::gradient_sum:
      return "gradient sums";
    case PathSort::message:
      return "messages";
    case PathSort::copy:
      return "copies";
    case PathSort::gap:
      return "between kernels";
  }
  throw Bug("a sort without a name");
}

std::vector<PathShare> path_shares(const TaskGraph& graph, const LoopPass& pass,
                                   const TaskOwners& owners) {
  std::map<PathSort, std::map<OperatorPlace, SimTime>> sums;
  for (const PathPart& part : critical_path(graph, pass))
    sums[sort_of(graph, part, owners)][owner_of(graph, part, owners)] += part.time();
  std::vector<PathShare> shares;
  for (const auto& [sort, operators] : sums) {
    PathShare& share = shares.emplace_back(PathShare{.sort = sort});
    for (const auto& [op, time] : operators) {
      share.parts.push_back({op, time});
      share.time += time;
    }
    std::ranges::stable_sort(share.parts, std::greater{}, &PathShare::Part::time);
  }
  std::ranges::stable_sort(shares, std::greater{}, &PathShare::time);
  return shares;
}

}  // namespace troika
