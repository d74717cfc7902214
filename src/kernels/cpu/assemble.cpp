// A tensor put together from boxes of others, one after the other. Each box is copied or combined
// as runs of contiguous elements, whose offsets from the begin of the box are computed once.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

/// The runs of one step: their common length and their offsets, in elements. Those in the input
/// count from the begin of its box, which the launch knows, and in layers so do those in y.
struct Runs {
  std::size_t input;
  Shape x, y;
  bool combines;
  std::int64_t length;
  std::vector<std::int64_t> from, to;
};

/// Joins runs that are contiguous on both sides.
Runs runs_of(const AssembleStep& step, const Shape& x, const Shape& y) {
  Runs runs{step.input, x, y, step.combines, 0, {}, {}};
  auto collect = [](const Shape& shape, const Region& region, std::vector<std::int64_t>& starts) {
    std::int64_t length = 0;
    for_each_run(shape, region, [&](std::int64_t offset, std::int64_t run) {
      starts.push_back(offset);
      length = run;
    });
    return length;
  };
  runs.length = collect(x, step.from, runs.from);
  collect(y, step.to, runs.to);
  std::size_t kept = 0;
  std::int64_t joined = runs.length;
  for (std::size_t at = 1; at < runs.from.size(); ++at) {
    bool follows = runs.from[at] == runs.from[at - 1] + runs.length &&
                   runs.to[at] == runs.to[at - 1] + runs.length;
    if (!follows) break;
    joined += runs.length;
  }
  // All runs of a box join equally, so the first joined run gives their number.
  std::int64_t each = joined / runs.length;
  for (std::size_t at = 0; at < runs.from.size(); at += static_cast<std::size_t>(each), ++kept)
    runs.from[kept] = runs.from[at], runs.to[kept] = runs.to[at];
  runs.from.resize(kept);
  runs.to.resize(kept);
  runs.length = joined;
  return runs;
}

void combine(float* to, const float* from, std::int64_t length, bool greatest) {
  if (greatest)
    run_range(0, length, [=](std::int64_t i) { to[i] = from[i] > to[i] ? from[i] : to[i]; });
  else
    run_range(0, length, [=](std::int64_t i) { to[i] += from[i]; });
}

/// Threads share long runs as well as many short ones.
void do_runs(const Launch& launch, const Assemble& op, const Runs& runs, std::size_t y) {
  constexpr std::int64_t kGrain = 1 << 14;
  std::int64_t cuts = (runs.length + kGrain - 1) / kGrain;
  auto count = static_cast<std::int64_t>(runs.from.size());
  BoxBegin begin_of_box = begin_of(op, runs.input, launch.position);
  const float* box = launch.at(runs.input) + offset_of(begin_of_box.in_input, runs.x);
  float* box_in_y = launch.at(y) + offset_of(begin_of_box.in_y, runs.y);
  for_rows(launch.threads, count * cuts, std::min(runs.length, kGrain), [&](std::int64_t row) {
    auto run = static_cast<std::size_t>(row / cuts);
    std::int64_t begin = row % cuts * kGrain, length = std::min(kGrain, runs.length - begin);
    const float* from = box + runs.from[run] + begin;
    float* to = box_in_y + runs.to[run] + begin;
    if (runs.combines)
      combine(to, from, length, op.greatest);
    else
      std::memcpy(to, from, static_cast<std::size_t>(length) * sizeof(float));
  });
}

}  // namespace

Offers offers(const Assemble& op, const Request& request) {
  AssemblePlan plan = plan_of(op);
  std::size_t y = request.operands.size() - 1;
  std::vector<Runs> all;
  for (const AssembleStep& step : plan.steps)
    all.push_back(runs_of(step, request.shape(step.input), request.shape(y)));
  Candidate candidate{.algorithm = "runs",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  Loop loop = [=, elements = request.shape(y).elements(),
               clears = plan.clears](const Launch& launch) {
    if (clears)
      for_elements(launch.threads, elements, [to = launch.at(y)](std::int64_t i) { to[i] = 0; });
    // In the order of the steps: a box that combines needs what earlier ones have written.
    for (const Runs& runs : all) do_runs(launch, op, runs, y);
  };
  return {offer_loop(request, candidate, loop)};
}

}  // namespace troika
