#include "setup/plan_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "search/split_menus.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

/// Parts of different lengths that a description lists.
constexpr std::size_t kShownWeights = 8;

double ratio(SimTime one, SimTime other) {
  return static_cast<double>(one.count) /
         static_cast<double>(std::max<std::int64_t>(1, other.count));
}

std::string found_line(const PlanFinding& finding, double seconds) {
  const Finalist& best = finding.best();
  std::string text =
      fmt::format("{} a step, found in {:.0f} s among {} plans", to_string(best.period), seconds,
                  with_commas(finding.found.proposed));
  const Finalist* data = finding.find("data");
  if (&best == data) return text + "; it is data parallelism";
  if (data == nullptr || !data->why_not.empty()) return text;
  return text + fmt::format("; {:.2f} times as fast as data parallelism ({})",
                            ratio(data->period, best.period), to_string(data->period));
}

std::string split_line(const PlanFinding& finding, const Graph& graph) {
  std::vector<SplitGroup> groups = split_groups(graph, finding.best().plan.strategy);
  std::ranges::stable_sort(groups, std::greater{}, &SplitGroup::operators);
  std::vector<std::string> parts;
  for (const SplitGroup& group : groups) {
    if (parts.size() == 3) {
      parts.push_back(fmt::format("{} more groups", groups.size() - parts.size()));
      break;
    }
    parts.push_back(fmt::format(
        "{}: {}", group.operators == 1 ? group.first : group.first + " ... " + group.last,
        group.split));
  }
  return fmt::format("splits: {}", fmt::join(parts, "; "));
}

}  // namespace

std::string describe(const Split& split) {
  std::vector<std::string> parts;
  std::int64_t dense = 1;
  for (std::size_t at = split.factors.size(); at-- > 0;) {
    const Factor& factor = split.factors[at];
    std::string text =
        fmt::format("{} = {}", factor.axis.empty() ? "copies" : factor.axis, factor.degree);
    if (!factor.weights.empty() && factor.weights.size() <= kShownWeights)
      text += fmt::format(" as {}", fmt::join(factor.weights, " : "));
    else if (!factor.weights.empty())
      text += " by weights";
    if (factor.stride != dense) text += fmt::format(" (stride {})", factor.stride);
    dense = factor.stride * factor.degree;
    parts.insert(parts.begin(), std::move(text));
  }
  if (split.chunks > 1) parts.push_back(fmt::format("{} chunks", split.chunks));
  std::string text = parts.empty() ? "whole" : fmt::format("{}", fmt::join(parts, ", "));
  if (!is_view(split)) return text + " on listed devices";
  if (parts.empty()) return text + fmt::format(" on device {}", split.first);
  return split.first == 0 ? text : text + fmt::format(" from device {}", split.first);
}

std::vector<SplitGroup> split_groups(const Graph& graph, const Strategy& strategy) {
  std::vector<SplitGroup> groups;
  for (const Operator& op : graph.operators) {
    std::string split = describe(normalised(split_of(strategy, op.name)));
    if (groups.empty() || groups.back().split != split)
      groups.push_back({op.name, op.name, 0, std::move(split)});
    groups.back().last = op.name;
    ++groups.back().operators;
  }
  return groups;
}

std::string bound_text(const PlanFinding& finding) {
  if (!finding.found.bounds) return "unknown: devices are not equally fast, or there are too many";
  const PlanBounds& bounds = *finding.found.bounds;
  if (bounds.least().count == 0) return "none known";
  double gap = 1 - ratio(bounds.least(), finding.found.plans.front().period);
  return fmt::format(
      "by the estimates of the search, no plan of its space takes less than {} ({}), so "
      "at most {:.0f} % of the step is left to gain",
      to_string(bounds.least()), bounds.binding(), 100 * std::max(0.0, gap));
}

std::vector<std::string> reasons_of(const PlanFinding& finding, const Graph& graph,
                                    double seconds) {
  return {found_line(finding, seconds), split_line(finding, graph),
          "bound: " + bound_text(finding)};
}

}  // namespace troika
