// `troika inspect`: what a file or folder is and what it contains.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/inspect_classes.h"
#include "cli/inspection.h"
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
  std::string cluster;
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

void run(const InspectArguments& arguments, Context& context) {
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
  app->add_option("--cluster", arguments->cluster,
                  "The machine for --classes, as a cluster file, if the plan says too little of it")
      ->needs(classes);
  app->footer(
      "Example:\n  troika inspect runs/digits/checkpoints/step-628\n"
      "  troika inspect runs/digits --dot | dot -Tsvg > tasks.svg\n"
      "  troika inspect plan.json --classes --cluster cluster.toml");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
