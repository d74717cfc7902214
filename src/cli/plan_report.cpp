#include "cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/explanation_report.h"
#include "cli/text_table.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Groups of operators that are printed; JSON has all.
constexpr std::size_t kShownGroups = 24;

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

/// Empty if no proof was asked for.
std::string proof_text(const FoundPlans& found) {
  if (found.unproved)
    return fmt::format("none: given up after {} strategies", with_commas(*found.unproved));
  if (!found.proof) return "";
  const Certificate& proof = *found.proof;
  return fmt::format(
      "by the estimates of the search, none of its 10^{:.1f} strategies is faster than {}: {} were "
      "simulated, and {} groups of others have a bound that is not lower",
      proof.log10_size, troika::to_string(proof.best.period), with_commas(proof.simulated),
      with_commas(proof.cut_off));
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
  std::vector<Fact> facts{
      {"model", fmt::format("{}, global batch {}", report.config.model.name,
                            report.config.train.global_batch)},
      {"devices", devices_text(finding.machine)},
      {"search", search_text(report)},
      {"kernels", kernels_text(finding)},
      {"plan", best.plan.origin == "search" ? "found by search" : best.plan.origin},
      {"step", fmt::format("{}, {:.1f} samples/s", troika::to_string(best.period),
                           static_cast<double>(report.config.train.global_batch) * 1e9 /
                               static_cast<double>(std::max<std::int64_t>(1, best.period.count)))},
      {"bound", bound_text(finding)},
  };
  if (std::string proof = proof_text(finding.found); !proof.empty())
    facts.push_back({"proof", proof});
  std::string text = format_facts(facts);
  text += "\n" + finalists_table(finding) + "\n" + groups_table(report);
  if (report.explanation) text += "\n" + to_text(*report.explanation);
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
                     {"too_long", count.too_long},
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
  if (const std::optional<Certificate>& proof = finding.found.proof)
    json["proof"] = {{"step_ms", milliseconds(proof->best.period)},
                     {"bound_ms", milliseconds(proof->least)},
                     {"log10_strategies", proof->log10_size},
                     {"simulated", proof->simulated},
                     {"excluded_groups", proof->cut_off}};
  if (finding.found.bounds) json["bound_ms"] = milliseconds(finding.found.bounds->least());
  if (report.explanation) json["explanation"] = Json::parse(to_json_text(*report.explanation));
  if (report.from) json["from"] = json_of(*report.from, finding);
  return json.dump();
}

}  // namespace troika::cli
