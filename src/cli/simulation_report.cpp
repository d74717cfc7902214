// Text and JSON of a simulated plan.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/link_traffic.h"
#include "cli/simulated_plan.h"
#include "cli/text_table.h"
#include "machine/speed_text.h"
#include "taskgraph/critical_path.h"
#include "taskgraph/sent_bytes.h"
#include "taskgraph/time_use.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownParts = 10;
/// Classes of devices that are shown one by one.
constexpr std::size_t kShownClasses = 16;
constexpr std::size_t kShownLinks = 5;

double samples_per_second(const SimulatedPlan& plan) {
  return static_cast<double>(plan.target.programs.config.train.global_batch) * 1e9 /
         static_cast<double>(std::max<std::int64_t>(plan.step().count, 1));
}

std::string plural(std::int64_t count, const std::string& noun, const char* ending = "s") {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : ending);
}

std::string machine_text(const Machine& machine) {
  std::vector<std::pair<std::string, std::int64_t>> kinds;
  for (const DeviceSpec& device : machine.devices) {
    if (kinds.empty() || kinds.back().first != device.kind) kinds.emplace_back(device.kind, 0);
    ++kinds.back().second;
  }
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds)
    texts.push_back(fmt::format("{} x {}", count, kind.empty() ? "unknown kind" : kind));
  return fmt::format("{}, {}", fmt::join(texts, ", "), plural(node_count(machine), "node"));
}

std::string kernels_text(const SimulatedPlan& plan) {
  const PlanKernels::Sources& from = plan.kernels;
  std::vector<std::string> parts;
  if (from.given > 0) parts.push_back(fmt::format("{} by the cost file", from.given));
  if (from.measured > 0)
    parts.push_back(fmt::format("{} measured on this computer{}", from.measured,
                                from.measured_now > 0
                                    ? fmt::format(" ({} now)", plural(from.measured_now, "kernel"))
                                    : ""));
  if (from.fitted > 0)
    parts.push_back(fmt::format("{} estimated from other rows of the cost file", from.fitted));
  if (from.estimated > 0)
    parts.push_back(
        fmt::format("{} estimated from the rates of the device (roofline)", from.estimated));
  return parts.empty() ? "none" : fmt::format("rows: {}", fmt::join(parts, ", "));
}

std::string rates_text(const DeviceSpec& device) {
  return fmt::format("{} and {} of memory", flops_text(device.flops_per_second),
                     rate_text(device.bytes_per_second));
}

std::string links_text(const SimulatedPlan& plan) {
  const Provenance& from = plan.target.on.links.provenance;
  return from.date.empty() ? from.source : fmt::format("{} on {}", from.source, from.date);
}

/// The share of the devices' time in which kernels run.
double busy_share(const SimulatedPlan& plan) {
  double busy = 0, whole = 0;
  for (const PredictedProgram& program : plan.programs) {
    std::vector<DeviceTime> used = time_use(program.graph, program.pass);
    for (std::size_t at = 0; at < used.size(); ++at) {
      double size = program.folded.classes.size[at];
      busy += size * static_cast<double>(used[at].busy().count);
      whole += size * static_cast<double>(used[at].whole.count);
    }
  }
  return whole > 0 ? busy / whole : 0;
}

/// Describes how ordering the messages changed the step.
std::string order_text(const OrderedMessages& ordered) {
  const Sync& given = ordered.given;
  std::string tried = plural(ordered.simulated, "plan") + " simulated";
  if (ordered.after == ordered.before)
    return fmt::format("as before: no other order or size of buckets is faster ({})", tried);
  std::vector<std::string> parts{fmt::format(
      "step {} instead of {} (-{})", to_string(ordered.after), to_string(ordered.before),
      percent(share_of(ordered.before - ordered.after, ordered.before)))};
  std::int64_t listed = std::ssize(ordered.sync.message_order);
  if (ordered.sync.message_order != given.message_order)
    parts.push_back(listed > 0 ? plural(listed, "message") + " first" : "by their readers");
  if (ordered.sync.bucket != given.bucket)
    parts.push_back("buckets of " + to_string(ordered.sync.bucket));
  return fmt::format("{} ({})", fmt::join(parts, ", "), tried);
}

std::vector<Fact> facts_of(const SimulatedPlan& plan) {
  const SimulationTarget& target = plan.target;
  const RunConfig& config = target.programs.config;
  std::int64_t classes = 0;
  for (const PredictedProgram& program : plan.programs)
    classes = std::max<std::int64_t>(classes, program.folded.classes.count());
  std::vector<Fact> facts{
      {"model", fmt::format("{}, global batch {}", config.model.name, config.train.global_batch)},
      {"plan", target.plan},
      {"devices", machine_text(target.on.machine)},
      {"classes", fmt::format("{} (devices of a class do the same)", classes)},
      {"kernels", kernels_text(plan)}};
  if (plan.kernels.estimated > 0)
    facts.push_back({"rates", rates_text(target.on.machine.devices.front())});
  if (target.on.machine.devices.size() > 1) facts.push_back({"links", links_text(plan)});
  facts.push_back({"step", to_string(plan.step())});
  facts.push_back({"samples/s", fmt::format("{:.1f}", samples_per_second(plan))});
  facts.push_back({"busy", percent(busy_share(plan)) + " of the devices' time"});
  facts.push_back({"bounds", bounds_text(plan.bounds())});
  if (plan.ordered) facts.push_back({"messages", order_text(*plan.ordered)});
  return facts;
}

/// The uses of time that some device has, as columns.
struct UseColumn {
  TimeUse use;
  std::optional<Collective> kind;

  bool operator==(const UseColumn&) const = default;
};

std::vector<UseColumn> columns_of(const std::vector<DeviceTime>& used) {
  std::vector<UseColumn> columns;
  for (const DeviceTime& device : used)
    for (const TimeShare& share : device.shares)
      if (UseColumn column{share.use, share.kind}; std::ranges::count(columns, column) == 0)
        columns.push_back(column);
  std::ranges::sort(columns, {},
                    [](const UseColumn& column) { return std::pair(column.use, column.kind); });
  return columns;
}

std::string title_of(const UseColumn& column) {
  return column.kind ? fmt::format("{}: {}", to_string(column.use), to_string(*column.kind))
                     : std::string(to_string(column.use));
}

SimTime time_in(const DeviceTime& device, const UseColumn& column) {
  for (const TimeShare& share : device.shares)
    if (share.use == column.use && share.kind == column.kind) return share.time;
  return {};
}

std::string classes_table(const PredictedProgram& program) {
  std::vector<DeviceTime> used = time_use(program.graph, program.pass);
  std::vector<UseColumn> columns = columns_of(used);
  std::vector<std::vector<std::string>> rows{{"class", "devices"}};
  for (const UseColumn& column : columns) rows[0].push_back(title_of(column));
  rows[0].emplace_back("memory");
  std::size_t shown = std::min(used.size(), kShownClasses);
  for (std::size_t at = 0; at < shown; ++at) {
    rows.push_back({std::to_string(at), with_commas(program.folded.classes.size[at])});
    for (const UseColumn& column : columns)
      rows.back().push_back(percent(share_of(time_in(used[at], column), used[at].whole)));
    rows.back().push_back(to_string(program.memory[at].total()));
  }
  std::string text = format_rows(rows);
  if (shown < used.size())
    text += fmt::format("  and {} more classes; --json has them all\n", used.size() - shown);
  return text;
}

std::string name_of_part(const TaskGraph& graph, const PathPart& part) {
  const std::string& name = graph.tasks[part.task].name;
  switch (part.kind) {
    case PathPart::Kind::task:
      return name;
    case PathPart::Kind::message:
      return "message: " + name;
    case PathPart::Kind::gap:
      return "between tasks, after " + name;
  }
  throw Bug("a part of no kind");
}

std::string_view to_string(PathPart::Kind kind) {
  switch (kind) {
    case PathPart::Kind::task:
      return "task";
    case PathPart::Kind::message:
      return "message";
    case PathPart::Kind::gap:
      return "gap";
  }
  throw Bug("a part of no kind");
}

std::string path_table(const PredictedProgram& program) {
  std::vector<PathPart> parts = critical_path(program.graph, program.pass);
  std::size_t count = parts.size();
  std::ranges::stable_sort(parts, std::greater{}, &PathPart::time);
  parts.resize(std::min(count, kShownParts));
  std::vector<std::vector<std::string>> rows{{"time", "share", "device", "critical path"}};
  for (const PathPart& part : parts)
    rows.push_back({troika::to_string(part.time()),
                    percent(share_of(part.time(), program.pass.period)),
                    std::to_string(part.device.value), name_of_part(program.graph, part)});
  return format_rows(rows, {0, 3}) +
         fmt::format("  the longest {} of its {} parts\n", parts.size(), count);
}

/// Which links the messages of a step keep busy; empty without messages.
std::string links_table(const PredictedProgram& program, const SimulatedMachine& on) {
  SentBytes sent = all_sent_bytes(program);
  if (sent == SentBytes{}) return "";
  std::string text = fmt::format("  sent in a step: {}\n", sent_text(sent));
  std::vector<LinkTraffic> links = link_traffic(program, on);
  if (links.empty()) return text;
  std::vector<std::vector<std::string>> rows{{"link", "bytes", "busy", "share"}};
  for (const LinkTraffic& link : std::span(links).first(std::min(links.size(), kShownLinks)))
    rows.push_back({fmt::format("{} -> {}", link.from, link.to), troika::to_string(link.bytes),
                    troika::to_string(link.busy), percent(share_of(link.busy, program.time))});
  text += format_rows(rows, {0});
  if (links.size() > kShownLinks)
    text += fmt::format("  and {} more; --json has them all\n", links.size() - kShownLinks);
  return text;
}

Json json_of_memory(const PlannedMemory& memory) {
  Json json{{"total", memory.total().count}};
  for (std::size_t at = 0; at < memory.categories.size(); ++at)
    json[std::string(troika::to_string(static_cast<Category>(at)))] = memory.categories[at].count;
  return json;
}

Json json_of_time(const DeviceTime& used) {
  Json shares = Json::array();
  for (const TimeShare& share : used.shares) {
    Json one{{"use", troika::to_string(share.use)}};
    if (share.kind) one["message"] = troika::to_string(*share.kind);
    one["ms"] = milliseconds(share.time);
    one["share"] = share_of(share.time, used.whole);
    shares.push_back(one);
  }
  return shares;
}

Json json_of(const PredictedProgram& program, const SimulatedMachine& on) {
  Json classes = Json::array();
  std::vector<DeviceTime> used = time_use(program.graph, program.pass);
  for (std::size_t at = 0; at < used.size(); ++at) {
    SentBytes sent = sent_bytes(program.graph, used[at].device);
    classes.push_back({{"first_device", used[at].device.value},
                       {"devices", program.folded.classes.size[at]},
                       {"time", json_of_time(used[at])},
                       {"memory", json_of_memory(program.memory[at])},
                       {"sent_bytes", Json::parse(to_json_text(sent))}});
  }
  Json path = Json::array();
  for (const PathPart& part : critical_path(program.graph, program.pass))
    path.push_back({{"kind", to_string(part.kind)},
                    {"name", program.graph.tasks[part.task].name},
                    {"device", part.device.value},
                    {"start_ms", milliseconds(part.start)},
                    {"ms", milliseconds(part.time())}});
  return {{"name", program.name},
          {"step_ms", milliseconds(program.time)},
          {"repeats", program.repeats},
          {"work_ms", milliseconds(program.bounds.work)},
          {"depth_ms", milliseconds(program.bounds.depth)},
          {"classes", classes},
          {"sent_bytes", Json::parse(to_json_text(all_sent_bytes(program)))},
          {"links", Json::parse(to_json_text(link_traffic(program, on), program.time))},
          {"critical_path", path}};
}

}  // namespace

std::string bounds_text(const WorkDepth& bounds) {
  return fmt::format("{} of work (W), longest chain {} (D): W / D = {:.1f} devices could be busy",
                     to_string(bounds.work), to_string(bounds.depth),
                     share_of(bounds.work, bounds.depth));
}

std::string to_text(const SimulatedPlan& plan) {
  std::string text = format_facts(facts_of(plan));
  for (const PredictedProgram& program : plan.programs) {
    text += "\n";
    if (plan.programs.size() > 1)
      text += fmt::format("program {}: {}\n", program.name, troika::to_string(program.time));
    text += classes_table(program) + "\n";
    std::string links = links_table(program, plan.target.on);
    if (!links.empty()) text += links + "\n";
    text += path_table(program);
    if (!program.repeats)
      text += "  The loop does not repeat; the step is the mean of the last 32 of 64.\n";
  }
  for (const std::string& note : plan.target.notes) text += "\n" + note;
  return plan.target.notes.empty() ? text : text + "\n";
}

std::string to_json_text(const SimulatedPlan& plan) {
  const RunConfig& config = plan.target.programs.config;
  WorkDepth bounds = plan.bounds();
  Json json{{"model", config.model.name},
            {"plan", plan.target.plan},
            {"batch", config.train.global_batch},
            {"devices", plan.target.on.machine.devices.size()},
            {"step_ms", milliseconds(plan.step())},
            {"samples_per_second", samples_per_second(plan)},
            {"busy", busy_share(plan)},
            {"work_ms", milliseconds(bounds.work)},
            {"depth_ms", milliseconds(bounds.depth)},
            {"parallelism", share_of(bounds.work, bounds.depth)},
            {"kernel_rows",
             {{"given", plan.kernels.given},
              {"measured", plan.kernels.measured},
              {"estimated", plan.kernels.estimated}}},
            {"links", plan.target.on.links.provenance.source},
            {"notes", plan.target.notes},
            {"programs", Json::array()}};
  if (plan.ordered)
    json["ordered"] = {{"before_ms", milliseconds(plan.ordered->before)},
                       {"after_ms", milliseconds(plan.ordered->after)},
                       {"simulated", plan.ordered->simulated},
                       {"bucket", plan.ordered->sync.bucket.count},
                       {"message_order", plan.ordered->sync.message_order}};
  for (const PredictedProgram& program : plan.programs)
    json["programs"].push_back(json_of(program, plan.target.on));
  return json.dump();
}

}  // namespace troika::cli
