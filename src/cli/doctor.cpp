// `troika doctor`: what this machine has and lacks, to be pasted into a bug report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/kernel_facts.h"
#include "cli/limit_facts.h"
#include "cli/machine_facts.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "config/cache_folder.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string describe(const Component& component) {
  if (component.found.empty())
    return fmt::format("missing; apt-get install {} ({})", component.package, component.note);
  return fmt::format("{} ({})", component.found, component.note);
}

void print_text(Console& console) {
  std::vector<Fact> facts = machine_facts();
  for (const Fact& fact : limit_facts()) facts.push_back(fact);
  for (const Component& component : components())
    facts.push_back({component.name, describe(component)});
  KernelFacts kernels = kernel_facts(cache_folder("auto"));
  facts.push_back({"kernels", fmt::format("{} checked in earlier runs, {} rejected",
                                          kernels.checked, kernels.left_out.size())});
  for (const LeftOutKernel& kernel : kernels.left_out)
    facts.push_back({"rejected", to_text(kernel)});
  console.write(format_facts(facts));
}

void print_json(Console& console) {
  Json json;
  for (const Fact& fact : machine_facts()) json[fact.name] = fact.value;
  for (const Fact& fact : limit_facts()) json["limits"][fact.name] = fact.value;
  for (const Component& component : components())
    json["components"].push_back({{"name", component.name},
                                  {"found", !component.found.empty()},
                                  {"where", component.found},
                                  {"package", component.package}});
  KernelFacts kernels = kernel_facts(cache_folder("auto"));
  json["kernels"] = {{"checked", kernels.checked}, {"left_out", Json::array()}};
  for (const LeftOutKernel& kernel : kernels.left_out)
    json["kernels"]["left_out"].push_back(
        {{"key", kernel.key}, {"kernel", kernel.kernel}, {"reason", kernel.reason}});
  console.print(json.dump(2));
}

}  // namespace

Verb add_doctor(CLI::App& parent, Context& context) {
  auto json = std::make_shared<bool>(false);  // shared by the parser and the verb
  CLI::App* app = parent.add_subcommand(
      "doctor", "Show what this machine has, what is missing and how to get it");
  app->add_flag("--json", *json, "Print JSON");
  app->footer("Example: print what a bug report should contain\n  troika doctor");
  return {app,
          [json, &context] { *json ? print_json(context.console) : print_text(context.console); }};
}

}  // namespace troika::cli
