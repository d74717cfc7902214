#include "taskgraph/time_use.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace troika {
namespace {

/// Messages that a device has started and not finished when its pass begins: of each, as many steps
/// as its finish lags behind its start.
int under_way_at_begin(const TaskGraph& graph, const LoopPass& pass, const PassRow& row) {
  int open = 0;
  for (const RanTask& ran : row.tasks) {
    const Task& task = graph.tasks[ran.task];
    if (!task.computes()) open += (task.kind == TaskKind::finish ? 1 : -1) * pass.passes_back(task);
  }
  return open;
}

RowPieces pieces_of_row(const TaskGraph& graph, const LoopPass& pass, const PassRow& row,
                        const std::vector<std::optional<RanTask>>& starts) {
  RowPieces pieces;
  std::size_t at = 0;
  auto add = [&](TimeUse use, SimTime time, std::optional<Collective> kind = {}) {
    if (time > SimTime{}) pieces.push_back({use, kind, time, at});
  };
  int under_way = under_way_at_begin(graph, pass, row);
  SimTime before = row.tasks.empty() ? SimTime{} : row.tasks.front().start;
  for (at = 0; at < row.tasks.size(); ++at) {
    const RanTask& ran = row.tasks[at];
    const Task& task = graph.tasks[ran.task];
    add(under_way > 0 ? TimeUse::moving : TimeUse::other, ran.start - before);
    before = ran.end;
    if (task.computes()) {
      add(task.is_update ? TimeUse::optimizer : TimeUse::compute, ran.time());
      continue;
    }
    Collective kind = graph[task.communication].call.kind;
    under_way += task.kind == TaskKind::start ? 1 : -1;
    SimTime begin = ran.start;
    if (task.kind == TaskKind::finish)
      begin = std::clamp(began(graph, pass, ran, starts).value_or(begin), ran.start, ran.end);
    add(TimeUse::late_peer, begin - ran.start, kind);
    add(TimeUse::message, ran.end - begin, kind);
  }
  if (row.tasks.empty()) return pieces;
  at = row.tasks.size() - 1;
  add(TimeUse::step_end, pass.period - (before - row.tasks.front().start));
  return pieces;
}

DeviceTime add_up(DeviceId device, const RowPieces& pieces) {
  std::map<std::pair<TimeUse, std::optional<Collective>>, SimTime> times;
  for (const TimePiece& piece : pieces) times[{piece.use, piece.kind}] += piece.time;
  DeviceTime made{.device = device};
  for (const auto& [what, time] : times) {
    made.shares.push_back({what.first, what.second, time});
    made.whole += time;
  }
  return made;
}

}  // namespace

std::string_view to_string(TimeUse use) {
  switch (use) {
    case TimeUse::compute:
      return "compute";
    case TimeUse::optimizer:
      return "optimizer";
    case TimeUse::late_peer:
      return "late peer";
    case TimeUse::message:
      return "message";
    case TimeUse::moving:
      return "moving";
    case TimeUse::other:
      return "other";
    case TimeUse::step_end:
      return "step end";
  }
  throw Bug("a use of time without a name");
}

SimTime DeviceTime::busy() const {
  SimTime sum;
  for (const TimeShare& share : shares)
    if (is_busy(share.use)) sum += share.time;
  return sum;
}

std::vector<std::optional<RanTask>> last_starts(const TaskGraph& graph, const LoopPass& pass) {
  std::vector<std::optional<RanTask>> starts(message_count(pass.messages));
  // Those of one step may run in different passes.
  auto since_step = [&](const RanTask& ran) {
    return ran.end + pass.period * pass.passes_back(graph.tasks[ran.task]);
  };
  for (const PassRow& row : pass.rows) {
    for (const RanTask& ran : row.tasks) {
      if (graph.tasks[ran.task].kind != TaskKind::start || pass.messages[ran.task] < 0) continue;
      std::optional<RanTask>& last = starts[as_index(pass.messages[ran.task])];
      if (!last || since_step(ran) > since_step(*last)) last = ran;
    }
  }
  return starts;
}

std::optional<SimTime> began(const TaskGraph& graph, const LoopPass& pass, const RanTask& finish,
                             const std::vector<std::optional<RanTask>>& starts) {
  std::int32_t message = pass.messages[finish.task];
  if (message < 0 || !starts[as_index(message)]) return std::nullopt;
  const RanTask& start = *starts[as_index(message)];
  int passes =
      pass.passes_back(graph.tasks[finish.task]) - pass.passes_back(graph.tasks[start.task]);
  return start.end - pass.period * passes;
}

std::vector<RowPieces> time_pieces(const TaskGraph& graph, const LoopPass& pass) {
  std::vector<std::optional<RanTask>> starts = last_starts(graph, pass);
  std::vector<RowPieces> all;
  for (const PassRow& row : pass.rows) all.push_back(pieces_of_row(graph, pass, row, starts));
  return all;
}

std::vector<DeviceTime> time_use(const TaskGraph& graph, const LoopPass& pass) {
  std::vector<RowPieces> pieces = time_pieces(graph, pass);
  std::vector<DeviceTime> all;
  for (std::size_t row = 0; row < pass.rows.size(); ++row)
    all.push_back(add_up(pass.rows[row].device, pieces[row]));
  return all;
}

}  // namespace troika
