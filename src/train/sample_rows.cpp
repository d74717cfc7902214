#include "train/sample_rows.h"

#include <algorithm>

namespace troika {

Range hull(Range a, Range b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Range sample_rows(const Session& session, const std::string& program, std::int64_t batch) {
  const TaskGraph& graph = session.program(program);
  Range rows{};
  for (const auto& [name, id] : graph.inputs) {
    const BufferSpec& part = graph[id];
    if (!session.is_here(part.device)) continue;
    if (part.part_of.empty()) return {0, batch};
    if (part.whole.rank() > 0 && part.whole[0] == batch) rows = hull(rows, part.region[0]);
  }
  return rows;
}

}  // namespace troika
