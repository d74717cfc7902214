// `troika models`: lists the models, or explains one of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/model_card.h"
#include "cli/text_table.h"
#include "cli/verb.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ModelsArguments {
  std::string name;
  bool json = false;
};

void list_models(bool as_json, Console& console) {
  Json list = Json::array();
  std::vector<Fact> lines;
  for (const zoo::Entry& entry : zoo::entries()) {
    list.push_back({{"name", entry.name}, {"description", entry.description}});
    lines.push_back({entry.name, entry.description});
  }
  if (as_json) return console.print(list.dump(2));
  console.write(format_facts(lines));
  console.print("\nOptions, data and an example: troika models NAME");
}

void print_card(const ModelCard& card, Console& console) {
  std::vector<Fact> facts{{"parameters", with_commas(card.parameters) + " with default options"}};
  for (const Fact& input : card.inputs)
    facts.push_back({"input", fmt::format("'{}' {}", input.name, input.value)});
  facts.push_back({"data", fmt::format("{}", fmt::join(card.data, ", "))});
  console.print(fmt::format("{}: {}", card.name, card.description));
  console.write(format_facts(facts));
  std::vector<Fact> options;
  for (const zoo::OptionHelp& option : card.options)
    options.push_back({option.name, fmt::format("{}, default {}: {}", option.type, option.usual,
                                                option.description)});
  if (!options.empty()) console.write("\nOptions in [model]:\n" + format_facts(options));
  console.write("\nAn example run file:\n\n" + card.example);
}

void print_json(const ModelCard& card, Console& console) {
  Json json{{"name", card.name},
            {"description", card.description},
            {"parameters", card.parameters},
            {"inputs", Json::object()},
            {"data", card.data},
            {"options", Json::array()},
            {"example", card.example}};
  for (const Fact& input : card.inputs) json["inputs"][input.name] = input.value;
  for (const zoo::OptionHelp& option : card.options)
    json["options"].push_back({{"name", option.name},
                               {"type", option.type},
                               {"default", option.usual},
                               {"description", option.description}});
  console.print(json.dump(2));
}

void run(const ModelsArguments& arguments, Console& console) {
  if (arguments.name.empty()) return list_models(arguments.json, console);
  ModelCard card = make_model_card(arguments.name);
  arguments.json ? print_json(card, console) : print_card(card, console);
}

}  // namespace

Verb add_models(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<ModelsArguments>();  // shared by the parser and the verb
  CLI::App* app = parent.add_subcommand(
      "models", "List the models, or describe one: options, data, parameters, an example");
  app->add_option("NAME", arguments->name, "The model to describe");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer("Example:\n  troika models resnet18");
  return {app, [arguments, &context] { run(*arguments, context.console); }};
}

}  // namespace troika::cli
