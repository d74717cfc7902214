#include "cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/text_table.h"
#include "strategy/tiles.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Groups of operators that are printed; JSON has all.
constexpr std::size_t kShownGroups = 24;
/// Parts of the gain that are printed, the largest ones.
constexpr std::size_t kShownGains = 10;

std::string signed_text(SimTime time) {
  return (time < SimTime{} ? "-" : "+") + troika::to_string(SimTime{std::abs(time.count)});
}

std::string devices_text(const Machine& machine) {
  std::int32_t nodes = node_count(machine);
  return fmt::format("{} x {}, {} node{}", machine.devices.size(), machine.devices.front().kind,
                     nodes, nodes == 1 ? "" : "s");
}

std::string search_text(const PlanReport& report) {
  const FoundPlans& found = report.finding.found;
  std::int64_t feasible = 0, accepted = 0;
  for (const MoveCount& count : found.moves) {
    feasible += count.feasible;
    accepted += count.accepted;
  }
  std::string text =
      fmt::format("{} proposals in {:.1f} s ({} accepted), seed {}, out of 10^{:.0f} strategies",
                  with_commas(found.proposed), report.seconds,
                  percent(static_cast<double>(accepted) /
                          static_cast<double>(std::max<std::int64_t>(1, feasible))),
                  report.seed, found.log10_size);
  if (report.finding.searches > 1)
    text += fmt::format("; the last of {} searches", report.finding.searches);
  return found.was_stopped ? text + "; stopped early" : text;
}

std::string kernels_text(const PlanFinding& finding) {
  const PlanKernels::Sources& from = finding.kernels;
  std::vector<std::string> parts;
  if (from.given > 0) parts.push_back(fmt::format("{} by the cost file", from.given));
  if (from.measured > 0)
    parts.push_back(fmt::format("{} measured on this computer", from.measured));
  if (from.fitted > 0) parts.push_back(fmt::format("{} estimated from others", from.fitted));
  if (from.estimated > 0) parts.push_back(fmt::format("{} by the roofline", from.estimated));
  std::string text = fmt::format("rows: {}", fmt::join(parts, ", "));
  if (finding.fitted_to.empty()) return text + "; searched with the roofline of the device";
  return text +
         fmt::format("; searched with estimates that follow rows of '{}' (mean error {:.0f} %)",
                     finding.fitted_to, 100 * finding.fit_error);
}

std::string finalists_table(const PlanFinding& finding) {
  std::vector<std::vector<std::string>> rows{{"plan", "step", "of the best", "memory", ""}};
  for (const Finalist& finalist : finding.finalists)
    rows.push_back({finalist.plan.origin, troika::to_string(finalist.period),
                    fmt::format("{:.3f}", share_of(finalist.period, finding.best().period)),
                    troika::to_string(finalist.memory), finalist.why_not});
  for (const SearchSeed& seed : finding.found.seeds)
    if (!seed.period) rows.push_back({seed.name, "-", "-", "-", seed.why_not});
  return format_rows(rows, {0, 4});
}

std::string groups_table(const PlanReport& report) {
  std::vector<SplitGroup> groups = split_groups(report.graph, report.finding.best().plan.strategy);
  std::vector<std::vector<std::string>> rows{{"operators", "", "split"}};
  for (const SplitGroup& group : groups) {
    if (rows.size() > kShownGroups) break;
    rows.push_back({group.operators == 1 ? group.first : group.first + " ... " + group.last,
                    fmt::format("{}", group.operators), group.split});
  }
  std::string text = format_rows(rows, {0, 2});
  if (groups.size() > kShownGroups)
    text +=
        fmt::format("  and {} more groups; the plan file has all\n", groups.size() - kShownGroups);
  return text;
}

std::string alternative_text(const SplitAlternative& alternative) {
  return fmt::format("{}: {}{}", describe(alternative.split), signed_text(alternative.difference),
                     alternative.fits ? "" : ", does not fit");
}

std::string explanation_text(const Explanation& explanation) {
  std::vector<std::vector<std::string>> rows{
      {"operator", "split", "as data parallel", "next best", "then"}};
  for (const ExplainedOperator& op : explanation.operators) {
    std::vector<std::string> row{
        op.name, describe(op.split),
        op.as_data_parallel ? signed_text(*op.as_data_parallel - explanation.period) : ""};
    for (const SplitAlternative& alternative : op.alternatives)
      row.push_back(alternative_text(alternative));
    row.resize(rows[0].size());
    rows.push_back(std::move(row));
  }
  std::string text = format_rows(rows, {0, 1, 3, 4});
  if (!explanation.data_parallel) return text;
  std::vector<GainPart> gains = explanation.gains;
  std::ranges::stable_sort(gains, std::greater{},
                           [](const GainPart& part) { return std::abs(part.gain.count); });
  SimTime shown{}, all = *explanation.data_parallel - explanation.period;
  std::vector<std::vector<std::string>> parts{{"gain", "from the split of"}};
  for (const GainPart& part : std::span(gains).first(std::min(gains.size(), kShownGains))) {
    parts.push_back({signed_text(part.gain), part.name});
    shown += part.gain;
  }
  if (gains.size() > kShownGains)
    parts.push_back(
        {signed_text(all - shown), fmt::format("{} more operators", gains.size() - kShownGains)});
  parts.push_back(
      {signed_text(all), fmt::format("all: {} under data parallelism, {} under the plan",
                                     troika::to_string(*explanation.data_parallel),
                                     troika::to_string(explanation.period))});
  return text + "\nWhy not data parallelism, one operator after the other:\n" +
         format_rows(parts, {1});
}

Json json_of(const Split& split) {
  Json factors = Json::array();
  for (const Factor& factor : split.factors)
    factors.push_back(
        {{"axis", factor.axis}, {"degree", factor.degree}, {"stride", factor.stride}});
  return {{"text", describe(split)}, {"factors", factors}, {"first", split.first}};
}

Json json_of(const Explanation& explanation) {
  Json operators = Json::array(), gains = Json::array();
  for (const ExplainedOperator& op : explanation.operators) {
    Json one{{"name", op.name}, {"split", json_of(op.split)}};
    if (op.as_data_parallel)
      one["as_data_parallel_ms"] = milliseconds(*op.as_data_parallel - explanation.period);
    for (const SplitAlternative& alternative : op.alternatives)
      one["alternatives"].push_back({{"split", json_of(alternative.split)},
                                     {"difference_ms", milliseconds(alternative.difference)},
                                     {"fits", alternative.fits}});
    operators.push_back(std::move(one));
  }
  for (const GainPart& part : explanation.gains)
    gains.push_back({{"operator", part.name}, {"ms", milliseconds(part.gain)}});
  Json json{{"step_ms", milliseconds(explanation.period)}, {"operators", operators}};
  if (explanation.data_parallel)
    json["data_parallel_ms"] = milliseconds(*explanation.data_parallel);
  json["gains"] = gains;
  return json;
}

Json json_of(const RunFindings& run, const PlanFinding& finding) {
  const MeasuredConditions& found = run.conditions;
  Json json{
      {"run", run.run},
      {"predicted_ms", milliseconds(run.predicted)},
      {"measured_ms", milliseconds(run.measured)},
      {"kernels", found.kernels},
      {"devices", found.devices},
      {"messages", {{"process", found.process}, {"node", found.node}, {"network", found.network}}}};
  if (std::optional<SimTime> own = step_of_run(run, finding)) {
    json["step_ms"] = milliseconds(*own);
    json["times_as_fast"] = share_of(*own, finding.best().period);
  }
  return json;
}

}  // namespace

std::string to_text(const PlanReport& report) {
  const PlanFinding& finding = report.finding;
  const Finalist& best = finding.best();
  std::string text = format_facts(
      {{"model", fmt::format("{}, global batch {}", report.config.model.name,
                             report.config.train.global_batch)},
       {"devices", devices_text(finding.machine)},
       {"search", search_text(report)},
       {"kernels", kernels_text(finding)},
       {"plan", best.plan.origin == "search" ? "found by search" : best.plan.origin},
       {"step", fmt::format("{}, {:.1f} samples/s", troika::to_string(best.period),
                            static_cast<double>(report.config.train.global_batch) * 1e9 /
                                static_cast<double>(std::max<std::int64_t>(1, best.period.count)))},
       {"bound", bound_text(finding)}});
  text += "\n" + finalists_table(finding) + "\n" + groups_table(report);
  if (report.explanation) text += "\n" + explanation_text(*report.explanation);
  if (report.from) text += "\n" + gain_text(*report.from, finding) + "\n";
  for (const std::string& note : report.notes) text += "\n" + note;
  return report.notes.empty() ? text : text + "\n";
}

std::string to_json_text(const PlanReport& report) {
  const PlanFinding& finding = report.finding;
  Json finalists = Json::array(), moves = Json::array();
  for (const Finalist& finalist : finding.finalists)
    finalists.push_back(
        {{"plan", finalist.plan.origin},
         {"step_ms", milliseconds(finalist.period)},
         {"scored_ms", milliseconds(finalist.plan.period)},
         {"memory", finalist.memory.count},
         {"sent_bytes", (finalist.sent.process + finalist.sent.node + finalist.sent.network).count},
         {"between_nodes_bytes", finalist.sent.network.count},
         {"classes", finalist.classes},
         {"fits", finalist.why_not.empty()}});
  Json seeds = Json::array();
  for (const SearchSeed& seed : finding.found.seeds) {
    Json one{{"plan", seed.name}, {"seconds", seed.seconds}};
    if (seed.period) one["scored_ms"] = milliseconds(*seed.period);
    if (!seed.period) one["why_not"] = seed.why_not;
    seeds.push_back(std::move(one));
  }
  for (std::size_t kind = 0; kind < kSplitMoveKinds; ++kind) {
    const MoveCount& count = finding.found.moves[kind];
    moves.push_back({{"move", to_string(static_cast<SplitMoveKind>(kind))},
                     {"proposed", count.proposed},
                     {"feasible", count.feasible},
                     {"accepted", count.accepted}});
  }
  Json json{{"model", report.config.model.name},
            {"batch", report.config.train.global_batch},
            {"devices", finding.machine.devices.size()},
            {"plan", finding.best().plan.origin},
            {"step_ms", milliseconds(finding.best().period)},
            {"seconds", report.seconds},
            {"seed", report.seed},
            {"proposals", finding.found.proposed},
            {"searches", finding.searches},
            {"log10_strategies", finding.found.log10_size},
            {"fit_error", finding.fit_error},
            {"fitted_flops", finding.fitted_rates.flops_per_second},
            {"finalists", finalists},
            {"seeds", seeds},
            {"moves", moves}};
  if (finding.found.bounds) json["bound_ms"] = milliseconds(finding.found.bounds->least());
  if (report.explanation) json["explanation"] = json_of(*report.explanation);
  if (report.from) json["from"] = json_of(*report.from, finding);
  return json.dump();
}

}  // namespace troika::cli
