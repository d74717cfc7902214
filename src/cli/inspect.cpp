// `troika inspect`: what a file or folder is and what it contains.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/explanation_report.h"
#include "cli/inspect_classes.h"
#include "cli/inspection.h"
#include "cli/run_target.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "train/snapshot.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectArguments {
  std::string target;
  bool json = false;
  bool dot = false;
  bool best = false;
  bool classes = false;
  bool explains = false;
  std::string cluster;
  std::string costs;
};

std::string to_json_text(const Inspection& found) {
  Json json{{"kind", found.kind}};
  for (const Fact& fact : found.facts) json["facts"][fact.name] = fact.value;
  for (std::size_t at = 1; at < found.rows.size(); ++at) {
    Json row;
    for (std::size_t column = 0; column < found.rows[at].size(); ++column)
      row[found.rows[0][column]] = found.rows[at][column];
    json["content"].push_back(row);
  }
  return json.dump(2);
}

/// Costs that lie beside the plan belong to it.
std::string costs_beside(const std::filesystem::path& file) {
  std::filesystem::path costs = std::filesystem::absolute(file).parent_path() / "costs.json";
  return std::filesystem::exists(costs) ? costs.string() : "";
}

PlanExplanation explain(const InspectArguments& arguments) {
  if (is_run_folder(arguments.target)) {
    if (!arguments.cluster.empty())
      throw Error(ErrorKind::usage, fmt::format("'{0}' is a run, which is explained on the devices "
                                                "that it ran on; give '{0}/plan.json' for those of "
                                                "a cluster file",
                                                arguments.target));
    return explain(open_measured_run(arguments.target, arguments.costs));
  }
  std::string costs = arguments.costs.empty() ? costs_beside(arguments.target) : arguments.costs;
  return explain(simulate_plan(
      open_simulation(
          {.target = arguments.target, .cluster = arguments.cluster, .costs = std::move(costs)}),
      {.measures = false}));
}

void show_explanation(const InspectArguments& arguments, Context& context) {
  PlanExplanation why = explain(arguments);
  if (arguments.json) return context.console.print(to_json_text(why));
  context.console.write(to_text(why));
  for (const std::string& note : why.notes) context.console.print(note);
}

void run(const InspectArguments& arguments, Context& context) {
  if (arguments.explains) return show_explanation(arguments, context);
  if (!arguments.costs.empty() || (!arguments.cluster.empty() && !arguments.classes))
    throw Error(ErrorKind::usage,
                fmt::format("'--{}' says what a plan is explained with; add --explain",
                            arguments.costs.empty() ? "cluster" : "costs"));
  if (arguments.dot) return context.console.write(draw_tasks(arguments.target));
  if (arguments.classes) {
    ClassInspection found = inspect_classes(arguments.target, arguments.cluster);
    if (arguments.json) return context.console.print(to_json_text(found));
    return context.console.write(to_text(found));
  }
  std::string target =
      arguments.best ? find_checkpoint(arguments.target, Pick::best).string() : arguments.target;
  Inspection found = inspect(target);
  if (arguments.json) return context.console.print(to_json_text(found));
  context.console.print(fmt::format("{}: {}", target, found.kind));
  context.console.write(format_facts(found.facts));
  if (!found.rows.empty()) context.console.write("\n" + format_rows(found.rows));
}

}  // namespace

Verb add_inspect(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<InspectArguments>();  // shared by the parser and the verb
  CLI::App* app =
      parent.add_subcommand("inspect", "Identify a file or folder and show its contents");
  app->add_option("FILE", arguments->target, "A file, a folder, or a data set such as digits:train")
      ->required();
  CLI::Option* best =
      app->add_flag("--best", arguments->best, "Show the best checkpoint of the run folder FILE");
  CLI::Option* json = app->add_flag("--json", arguments->json, "Print JSON");
  CLI::Option* dot =
      app->add_flag("--dot", arguments->dot,
                    "Print the tasks of a training step for Graphviz; FILE is a run folder, a run "
                    "file or the plan.json of a run folder")
          ->excludes(json)
          ->excludes(best);
  CLI::Option* classes =
      app->add_flag("--classes", arguments->classes,
                    "Show which devices of the plan FILE do the same, and how the others differ")
          ->excludes(dot)
          ->excludes(best);
  app->add_flag("--explain", arguments->explains,
                "Say where the time of the plan FILE goes and why it is split so; of a run folder, "
                "with what the run measured")
      ->excludes(dot)
      ->excludes(best)
      ->excludes(classes);
  app->add_option("--cluster", arguments->cluster,
                  "The machine for --classes and --explain, as a cluster file, if the plan says "
                  "too little of it");
  app->add_option("--costs", arguments->costs,
                  "For --explain: a cost file with kernel times; default: costs.json beside FILE, "
                  "else what was measured on this computer");
  app->footer(
      "Example:\n  troika inspect runs/digits/checkpoints/step-628\n"
      "  troika inspect runs/digits --dot | dot -Tsvg > tasks.svg\n"
      "  troika inspect plan.json --classes --cluster cluster.toml\n"
      "  troika inspect plan.json --explain --cluster cluster.toml\n"
      "  troika inspect runs/digits --explain");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
