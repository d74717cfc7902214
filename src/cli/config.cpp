// `troika config`: checks, shows and writes run files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/durable_file.h"
#include "base/error.h"
#include "cli/run_check.h"
#include "cli/verb.h"
#include "config/load_cluster.h"
#include "config/reference.h"
#include "config/show_run.h"

namespace troika::cli {
namespace {

struct ConfigArguments {
  std::string file;
  std::vector<std::string> overrides;
  bool cluster = false;
};

void check(const ConfigArguments& arguments, Console& console) {
  if (is_cluster_file(arguments.file)) {
    if (!arguments.overrides.empty())
      throw Error(ErrorKind::usage, "key=value is for run files; edit the cluster file instead");
    load_cluster(arguments.file);
    return console.print(fmt::format("{} is a valid cluster file", arguments.file));
  }
  std::string run = check_run_file(settle(read_draft(arguments.file, arguments.overrides)));
  console.print(fmt::format("{} is a valid run file: {}", arguments.file, run));
}

void show(const ConfigArguments& arguments, Console& console) {
  console.write(show_run(read_run(arguments.file, arguments.overrides), arguments.file));
}

void init(const ConfigArguments& arguments, Console& console) {
  if (std::filesystem::exists(arguments.file))
    throw Error(ErrorKind::usage,
                fmt::format("'{}' already exists; choose another name", arguments.file));
  replace_file(arguments.file,
               arguments.cluster ? std::string(cluster_template()) : run_template());
  console.print(fmt::format("wrote {}; next: troika {} {}", arguments.file,
                            arguments.cluster ? "inspect" : "train", arguments.file));
}

CLI::App* add(CLI::App& parent, const std::string& name, const std::string& description,
              ConfigArguments& arguments) {
  CLI::App* app = parent.add_subcommand(name, description);
  app->add_option("FILE", arguments.file,
                  name == "show" ? "The run file" : "The run file, or a cluster file")
      ->required();
  if (name != "init")
    app->add_option("key=value", arguments.overrides,
                    "Replaces a value of the file, such as train.epochs=3");
  app->footer(fmt::format("Example:\n  troika config {} run.toml", name));
  return app;
}

}  // namespace

Verb add_config(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<ConfigArguments>();  // shared by the parser and the verb
  CLI::App* app =
      parent.add_subcommand("config", "Check, show or write a run file or a cluster file");
  app->require_subcommand(1);
  app->footer(
      "Example:\n  troika config init run.toml\n  troika config show run.toml "
      "optimizer.learning_rate=0.1");
  CLI::App* check_app =
      add(*app, "check", "Report all errors in a run file at once: keys, model, data, plan",
          *arguments);
  CLI::App* show_app =
      add(*app, "show", "Print the value of every key and where it was set", *arguments);
  CLI::App* reference_app =
      app->add_subcommand("reference", "Print the reference of all keys (docs/config.md)");
  reference_app->footer("Example:\n  troika config reference > docs/config.md");
  add(*app, "init", "Write a commented run file, ready to train", *arguments)
      ->add_flag("--cluster", arguments->cluster, "Write a cluster file instead");
  return {app, [=, &context] {
            if (check_app->parsed()) return check(*arguments, context.console);
            if (show_app->parsed()) return show(*arguments, context.console);
            if (reference_app->parsed()) return context.console.write(config_reference());
            init(*arguments, context.console);
          }};
}

}  // namespace troika::cli
