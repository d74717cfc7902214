#include "cli/inspect_classes.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "cli/planned_programs.h"
#include "cli/recorded_run.h"
#include "cli/text_table.h"
#include "config/load_cluster.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool is_plan(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format") || !json["format"].is_string()) return false;
  return json["format"].get<std::string>().starts_with("troika plan");
}

std::string read_plan(const fs::path& file) {
  if (!fs::exists(file))
    throw Error(ErrorKind::file, fmt::format("'{}' does not exist", file.string()));
  std::ostringstream text;
  if (fs::is_regular_file(file)) text << std::ifstream(file).rdbuf();
  if (!is_plan(text.str()))
    throw Error(ErrorKind::usage,
                fmt::format("--classes shows the classes of devices of a plan, but '{}' is not a "
                            "plan; give a plan file, such as runs/NAME/plan.json",
                            file.string()));
  return text.str();
}

/// "0", "0 (gpu0.0)"
std::string first_text(const Machine& machine, const ExplainedClass& each) {
  std::int32_t first = each.devices.front();
  const std::string& name = machine.devices[as_index(first)].name;
  return name.empty() ? std::to_string(first) : fmt::format("{} ({})", first, name);
}

std::string headline(const ProgramClasses& program, std::size_t devices) {
  std::size_t count = program.classes.size();
  auto plural = [](std::size_t number, std::string noun, const char* ending) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : ending);
  };
  return fmt::format("{} in {}; a task graph of {} stands for all", plural(devices, "device", "s"),
                     plural(count, "class", "es"), plural(count, "device", "s"));
}

std::string table_of(const Machine& machine, const std::vector<ExplainedClass>& classes) {
  std::vector<std::vector<std::string>> rows{
      {"class", "count", "first", "devices", "kind", "tasks", "difference from the class before"}};
  for (const ExplainedClass& each : classes) {
    const std::string& kind = machine.devices[as_index(each.devices.front())].kind;
    rows.push_back({std::to_string(rows.size() - 1), with_commas(std::ssize(each.devices)),
                    first_text(machine, each), ranges_text(each.devices, kMostRanges),
                    kind.empty() ? "not known" : kind, with_commas(each.tasks), each.difference});
  }
  return format_rows(rows, {0, 2, 3, 4, 6});
}

Json json_of(const Machine& machine, const ExplainedClass& each, std::size_t number) {
  const DeviceSpec& first = machine.devices[as_index(each.devices.front())];
  Json json{{"class", number},
            {"count", each.devices.size()},
            {"first", each.devices.front()},
            {"devices", ranges_text(each.devices, each.devices.size())},
            {"tasks", each.tasks}};
  if (!first.name.empty()) json["name"] = first.name;
  if (!first.kind.empty()) json["kind"] = first.kind;
  if (!each.difference.empty()) json["difference"] = each.difference;
  return json;
}

}  // namespace

ClassInspection inspect_classes(const fs::path& file, const fs::path& cluster) {
  std::string text = read_plan(file);
  ClassInspection found;
  if (!cluster.empty()) found.machine = make_machine(load_cluster(cluster.string()));
  try {
    Strategy strategy = parse_strategy(text);
    if (!strategy.made_for)
      throw Error(ErrorKind::usage,
                  "the plan does not say which model it is for; add 'model' to it");
    fs::path folder = fs::absolute(file).parent_path();
    if (cluster.empty())
      found.machine = machine_of(strategy, read_recorded_run(folder).ranks, found.notes);
    PlannedPrograms programs = load_programs(strategy, folder);
    for_each_program(programs, found.machine, [&](const LowerRequest& request) {
      found.programs.push_back({request.name, explain_classes(request)});
    });
  } catch (const Error& error) {
    throw error.within(file.string());
  }
  found.notes.emplace_back(
      "Tasks are counted before kernels are chosen: nothing is fused or reordered.");
  return found;
}

std::string to_text(const ClassInspection& found) {
  std::string text;
  for (const ProgramClasses& program : found.programs) {
    if (found.programs.size() > 1) text += program.program + ": ";
    text += headline(program, found.machine.devices.size()) + "\n" +
            table_of(found.machine, program.classes) + "\n";
  }
  for (const std::string& note : found.notes) text += note + "\n";
  return text;
}

std::string to_json_text(const ClassInspection& found) {
  Json json{{"kind", "plan"}, {"devices", found.machine.devices.size()}, {"notes", found.notes}};
  for (const ProgramClasses& program : found.programs) {
    Json classes = Json::array();
    for (const ExplainedClass& each : program.classes)
      classes.push_back(json_of(found.machine, each, classes.size()));
    json["programs"].push_back({{"name", program.program}, {"classes", classes}});
  }
  return json.dump(2);
}

}  // namespace troika::cli
