#include "cli/replan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "cli/measured_run.h"
#include "train/step_drift.h"

namespace troika::cli {
namespace {

/// Devices that one part of a sentence names.
constexpr std::size_t kNamedDevices = 4;

std::string_view between(LinkKind kind) {
  switch (kind) {
    case LinkKind::process:
      return "between devices of a process";
    case LinkKind::node:
      return "between processes of a node";
    case LinkKind::network:
      break;
  }
  return "between nodes";
}

/// "device 1", "devices 1, 3", "devices 1, 2, 3, 4 and 60 more"
std::string name_devices(const std::vector<std::size_t>& devices) {
  std::size_t named = std::min(devices.size(), kNamedDevices);
  std::string text = fmt::format("device{} {}", devices.size() == 1 ? "" : "s",
                                 fmt::join(std::span(devices).first(named), ", "));
  return named == devices.size() ? text
                                 : text + fmt::format(" and {} more", devices.size() - named);
}

/// Devices with equal factors, to two digits, in one part each.
std::vector<std::string> device_texts(const std::vector<double>& factors) {
  std::map<std::string, std::vector<std::size_t>> slow, fast;
  for (std::size_t device = 0; device < factors.size(); ++device) {
    if (factors[device] > 1) slow[fmt::format("{:.1f}", factors[device])].push_back(device);
    if (factors[device] < 1) fast[fmt::format("{:.1f}", 1 / factors[device])].push_back(device);
  }
  std::vector<std::string> parts;
  auto add = [&](const auto& groups, const char* speed) {
    for (const auto& [times, devices] : groups)
      parts.push_back(fmt::format("{} {} {} times as {}", name_devices(devices),
                                  devices.size() == 1 ? "is" : "are", times, speed));
  };
  add(slow, "slow");
  add(fast, "fast");
  return parts;
}

std::string conditions_text(const MeasuredConditions& conditions) {
  std::vector<std::string> parts = device_texts(conditions.devices);
  for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network})
    if (conditions.of(kind) != 1)
      parts.push_back(
          fmt::format("messages {} take {:.1f} times as long", between(kind), conditions.of(kind)));
  if (std::abs(conditions.kernels - 1) >= kConditionNoise)
    parts.push_back(
        fmt::format("all kernels take {:.2f} times as long as predicted", conditions.kernels));
  return parts.empty() ? "all as predicted" : fmt::format("{}", fmt::join(parts, ", "));
}

/// Another plan needs as long as the run for everything but kernels and messages, such as samples.
std::string rest_text(const RunFindings& run, SimTime own) {
  double explained = static_cast<double>(own.count);
  if (std::abs(static_cast<double>(run.measured.count) - explained) <= kStepDrift * explained)
    return "";
  return fmt::format(
      "; steps of the run took {}, and 'troika simulate --against {}' says what the "
      "rest is",
      to_string(run.measured), run.run);
}

}  // namespace

Replan open_replan(const std::string& run) {
  MeasuredRun measured = open_measured_run(run);
  SimulationTarget target = std::move(measured.plan.target);
  require_searchable(target.programs.model);
  RunFindings findings{.run = run,
                       .predicted = measured.program().time,
                       .measured = measured.time,
                       .plan = {"plan of " + run, target.programs.strategy}};
  findings.conditions =
      find_conditions({measured.program().graph, measured.predicted, measured.measured},
                      target.on.machine.devices.size());
  target.on.machine = with_conditions(std::move(target.on.machine), findings.conditions);
  target.on.links = with_conditions(std::move(target.on.links), findings.conditions);
  std::size_t devices = target.on.machine.devices.size();
  if (measured.devices.size() < devices)
    target.notes.push_back(fmt::format(
        "The trace shows {} of {} devices, those of the first rank; the others are taken to be "
        "as fast as these, and messages to them to take as long as predicted.",
        measured.devices.size(), devices));
  return {std::move(target), std::move(findings)};
}

std::optional<SimTime> step_of_run(const RunFindings& run, const PlanFinding& finding) {
  const Finalist* own = finding.find(run.plan.name);
  if (own == nullptr || !own->why_not.empty()) return std::nullopt;
  return own->period;
}

std::string gain_text(const RunFindings& run, const PlanFinding& finding) {
  std::string text =
      fmt::format("With what {} measured ({}) ", run.run, conditions_text(run.conditions));
  SimTime best = finding.best().period;
  std::optional<SimTime> own = step_of_run(run, finding);
  if (!own)
    return text +
           fmt::format("its plan does not fit; the plan found takes {} a step", to_string(best));
  if (*own <= best)
    return text + fmt::format("no plan was found that takes less time than its own, {} a step{}",
                              to_string(*own), rest_text(run, *own));
  double times = static_cast<double>(own->count) / static_cast<double>(best.count);
  return text +
         fmt::format("its plan takes {} a step; the plan found takes {}: {:.2f} times as fast{}",
                     to_string(*own), to_string(best), times, rest_text(run, *own));
}

}  // namespace troika::cli
