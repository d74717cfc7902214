#include "cli/explanation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "cli/text_table.h"
#include "setup/plan_summary.h"

namespace troika::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// JSON has all of these.
constexpr std::size_t kShownOperators = 24;
constexpr std::size_t kShownGains = 10;
constexpr std::size_t kShownLayers = 12;
/// Operators of each sort on the critical path.
constexpr std::size_t kShownParts = 3;

template <class T>
std::span<const T> first_of(const std::vector<T>& all, std::size_t most) {
  return std::span(all).first(std::min(all.size(), most));
}

std::string more_text(std::size_t all, std::size_t shown, const std::string& noun) {
  if (all <= shown) return "";
  return fmt::format("  and {} more {}; --json has them all\n", all - shown, noun);
}

std::string signed_text(SimTime time) {
  return (time < SimTime{} ? "-" : "+") + troika::to_string(SimTime{std::abs(time.count)});
}

std::string short_percent(double share) { return fmt::format("{:.0f} %", share * 100); }

// The step as a whole.

std::string resource_text(const Resource& resource, SimTime step) {
  return fmt::format("{}: {}, {} of the step", resource.name, troika::to_string(resource.busy),
                     short_percent(share_of(resource.busy, step)));
}

std::string path_text(const PathShare& share, const PlanExplanation& why) {
  std::string text = short_percent(share_of(share.time, why.step)) + " " +
                     std::string(troika::to_string(share.sort));
  std::vector<std::string> parts;
  for (const PathShare::Part& part : first_of(share.parts, kShownParts))
    if (part.op >= 0)
      parts.push_back(fmt::format("{} {}", why.operators[as_index(part.op)].name,
                                  short_percent(share_of(part.time, why.step))));
  if (parts.empty()) return text;
  if (share.parts.size() > kShownParts)
    parts.push_back(fmt::format("{} more", share.parts.size() - kShownParts));
  return fmt::format("{} ({})", text, fmt::join(parts, ", "));
}

std::string facts_text(const PlanExplanation& why) {
  std::vector<Fact> facts{{"predicted step", troika::to_string(why.step)}};
  if (why.measured_whole)
    facts.push_back({"measured step", troika::to_string(why.measured_whole->total())});
  for (const Resource& resource : why.resources)
    facts.push_back({facts.back().name.ends_with("step") ? "binding" : "then",
                     resource_text(resource, why.step)});
  for (const PathShare& share : why.path) {
    bool is_first = &share == &why.path.front();
    // Less than half a percent of the step says nothing.
    if (is_first || share_of(share.time, why.step) >= 0.005)
      facts.push_back({is_first ? "critical path" : "", path_text(share, why)});
  }
  facts.push_back({"sent in a step", sent_text(why.sent)});
  if (!why.links.empty()) {
    const LinkTraffic& link = why.links.front();
    facts.push_back({"busiest link", fmt::format("{} -> {}, {}", link.from, link.to,
                                                 troika::to_string(link.bytes))});
  }
  return format_facts(facts);
}

// The time of a device.

/// The most expensive operators, and how many have time at all.
struct Expensive {
  std::vector<const OperatorCost*> shown;
  std::size_t all = 0;
};

Expensive most_expensive(const PlanExplanation& why) {
  Expensive made;
  for (const OperatorCost& cost : why.operators)
    if (cost.predicted.total() > SimTime{} || (cost.measured && cost.measured->total() > SimTime{}))
      made.shown.push_back(&cost);
  made.all = made.shown.size();
  std::ranges::stable_sort(made.shown, std::greater{},
                           [](const OperatorCost* cost) { return cost->predicted.total(); });
  if (made.shown.size() > kShownOperators) made.shown.resize(kShownOperators);
  return made;
}

/// The figures of a row: of a run, predicted and measured side by side.
std::vector<std::string> figures_of(const OperatorTime& predicted,
                                    const std::optional<OperatorTime>& measured, bool is_of_run) {
  if (!is_of_run)
    return {ms_text(predicted.forward),  ms_text(predicted.backward), ms_text(predicted.update),
            ms_text(predicted.messages), ms_text(predicted.waiting),  ms_text(predicted.total())};
  auto seen = [&](SimTime time) { return measured ? ms_text(time) : std::string("-"); };
  const OperatorTime own = measured.value_or(OperatorTime{});
  return {ms_text(predicted.kernels()), seen(own.kernels()),        ms_text(predicted.messages),
          seen(own.messages),           ms_text(predicted.waiting), seen(own.waiting)};
}

/// All operators that are not shown, on the device that is.
OperatorTime others_of(const PlanExplanation& why, const Expensive& expensive, bool measured) {
  OperatorTime others;
  for (const OperatorCost& cost : why.operators) {
    if (cost.device != why.device || std::ranges::count(expensive.shown, &cost) > 0) continue;
    others += measured ? cost.measured.value_or(OperatorTime{}) : cost.predicted;
  }
  return others;
}

std::string times_table(const PlanExplanation& why) {
  bool is_of_run = why.measured_whole.has_value();
  Rows rows{{"operator", "split"}};
  for (const char* title :
       is_of_run ? std::vector{"kernels", "measured", "messages", "measured", "waiting", "measured"}
                 : std::vector{"forward", "backward", "update", "messages", "waiting", "all"})
    rows[0].emplace_back(title);
  auto add = [&](const std::string& name, const std::string& split, const OperatorTime& predicted,
                 const std::optional<OperatorTime>& measured) {
    rows.push_back({name, split});
    for (std::string& figure : figures_of(predicted, measured, is_of_run))
      rows.back().push_back(std::move(figure));
  };
  Expensive expensive = most_expensive(why);
  for (const OperatorCost* cost : expensive.shown)
    add(cost->device == why.device
            ? cost->name
            : fmt::format("({} on device {})", cost->name, cost->device.value),
        describe(cost->split), cost->predicted, cost->measured);
  if (expensive.all > expensive.shown.size())
    add(fmt::format("{} more operators", expensive.all - expensive.shown.size()), "",
        others_of(why, expensive, false), others_of(why, expensive, true));
  add("rest", "", why.rest, why.measured_rest);
  add("step", "", why.whole, why.measured_whole);
  return fmt::format("Where the step of device {} goes, in ms:\n", why.device.value) +
         format_rows(rows, {0, 1});
}

// Other splits.

std::string alternative_text(const SplitAlternative& alternative) {
  return fmt::format("{}: {}{}", describe(alternative.split), signed_text(alternative.difference),
                     alternative.fits ? "" : ", does not fit");
}

std::string choices_table(const PlanExplanation& why) {
  const Explanation& splits = why.splits;
  Rows rows{{"operator", "split", "as data parallel", "next best", "then"}};
  for (const OperatorCost* cost : most_expensive(why).shown) {
    const ExplainedOperator* op = splits.find(cost->name);
    if (op == nullptr) continue;
    std::vector<std::string> row{
        op->name, describe(op->split),
        op->as_data_parallel ? signed_text(*op->as_data_parallel - splits.period) : ""};
    for (const SplitAlternative& alternative : op->alternatives)
      row.push_back(alternative_text(alternative));
    row.resize(rows[0].size());
    rows.push_back(std::move(row));
  }
  std::string text =
      "The step with another split of one operator:\n" + format_rows(rows, {0, 1, 3, 4});
  text += more_text(splits.operators.size(), rows.size() - 1, "operators");
  if (splits.period != why.step)
    text += fmt::format("  With plain kernels, which any split has: the step is {} then.\n",
                        troika::to_string(splits.period));
  return text;
}

std::string gains_table(const Explanation& splits) {
  if (!splits.data_parallel) return "";
  std::vector<GainPart> gains = splits.gains;
  std::ranges::stable_sort(gains, std::greater{},
                           [](const GainPart& part) { return std::abs(part.gain.count); });
  SimTime shown{}, all = *splits.data_parallel - splits.period;
  Rows rows{{"gain", "from the split of"}};
  for (const GainPart& part : first_of(gains, kShownGains)) {
    rows.push_back({signed_text(part.gain), part.name});
    shown += part.gain;
  }
  if (gains.size() > kShownGains)
    rows.push_back(
        {signed_text(all - shown), fmt::format("{} more operators", gains.size() - kShownGains)});
  rows.push_back({signed_text(all), fmt::format("all: {} under data parallelism, {} under the plan",
                                                troika::to_string(*splits.data_parallel),
                                                troika::to_string(splits.period))});
  return "\nWhy not data parallelism, one operator after the other:\n" + format_rows(rows, {1});
}

// Gradients against activations.

std::string batch_text(const LayerTraffic& layer, const PlanExplanation& why) {
  std::optional<double> flip = layer.flip_batch(why.devices);
  if (!flip) return "any";
  double batch = *flip * static_cast<double>(why.batch);
  return batch < 1 ? "none" : "< " + with_commas(static_cast<std::int64_t>(std::ceil(batch)));
}

std::string devices_text(const LayerTraffic& layer) {
  std::optional<double> flip = layer.flip_devices();
  if (!flip) return "none";
  auto least = static_cast<std::int64_t>(std::floor(*flip)) + 1;
  return least <= 2 ? "any" : ">= " + with_commas(least);
}

std::string layers_table(const PlanExplanation& why) {
  if (why.layers.empty()) return "";
  std::vector<LayerTraffic> layers = why.layers;
  std::ranges::stable_sort(layers, std::greater{}, &LayerTraffic::weights);
  Rows rows{{"layer", "gradients", "activations", "along", "fewer", "by parameters for batch",
             "devices"}};
  for (const LayerTraffic& layer : first_of(layers, kShownLayers))
    rows.push_back({why.operators[layer.op].name,
                    troika::to_string(layer.gradient_bytes(why.devices)),
                    troika::to_string(layer.best(why.devices).bytes(why.devices)),
                    layer.best(why.devices).axis,
                    layer.prefers_parameters(why.devices) ? "activations" : "gradients",
                    batch_text(layer, why), devices_text(layer)});
  return fmt::format(
             "\nBytes of a step on {} devices: gradients if a layer is split by samples, "
             "activations if by parameters:\n",
             why.devices) +
         format_rows(rows, {0, 3, 4}) +
         more_text(layers.size(), kShownLayers, "layers with fewer weights");
}

}  // namespace

std::string to_text(const PlanExplanation& why) {
  return facts_text(why) + "\n" + times_table(why) + "\n" + choices_table(why) +
         gains_table(why.splits) + layers_table(why);
}

}  // namespace troika::cli
