#include "cli/inspect.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/inspection.h"
#include "cli/text_table.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectArguments {
  std::string target;
  bool json = false;
  bool dot = false;
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
  Inspection found = inspect(arguments.target);
  if (arguments.json) return context.console.print(to_json_text(found));
  context.console.print(fmt::format("{}: {}", arguments.target, found.kind));
  context.console.write(format_facts(found.facts));
  if (!found.rows.empty()) context.console.write("\n" + format_rows(found.rows));
}

}  // namespace

Verb add_inspect(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<InspectArguments>();  // shared by the parser and the verb
  CLI::App* app = parent.add_subcommand("inspect", "Say what a file is and what is in it");
  app->add_option("FILE", arguments->target, "A file, a folder, or a data set such as digits:train")
      ->required();
  CLI::Option* json = app->add_flag("--json", arguments->json, "Print JSON");
  app->add_flag("--dot", arguments->dot,
                "Print the tasks of a run's step for Graphviz; FILE is a run folder, a run file or "
                "the plan.json of a run folder")
      ->excludes(json);
  app->footer(
      "Example:\n  troika inspect runs/digits/checkpoints/step-628\n"
      "  troika inspect runs/digits --dot | dot -Tsvg > tasks.svg");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
