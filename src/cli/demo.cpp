// `troika demo`: a run that needs no files, from nothing to a trained model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/suggest.h"
#include "cli/drive_run.h"
#include "cli/rank_seat.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "config/load_run.h"

namespace troika::cli {
namespace {

struct Demo {
  const char* name;
  const char* description;
  const char* run_file;
};

constexpr Demo kDemos[] = {
    {"digits", "a convolutional network learns to read generated digits", R"([model]
name = "lenet"

[data]
train = "digits:train"
test = "digits:test"

[train]
global_batch = 64
epochs = 2

[optimizer]
name = "sgd"
learning_rate = 0.05
momentum = 0.9
schedule = { kind = "cosine", warmup = "5%" }
)"}};

struct DemoArguments {
  std::string name = "digits";
  std::vector<std::string> overrides;
  bool overwrite = false;
};

const Demo& find_demo(const std::string& name) {
  auto found = std::ranges::find(kDemos, name, &Demo::name);
  if (found != std::end(kDemos)) return *found;
  std::vector<std::string> names;
  for (const Demo& demo : kDemos) names.emplace_back(demo.name);
  auto near = closest(name, names);
  throw Error(ErrorKind::usage,
              fmt::format("there is no demo '{}'; {}", name,
                          near ? fmt::format("did you mean '{}'?", *near)
                               : fmt::format("there are: {}", fmt::join(names, ", "))));
}

void say_what_next(const RunResult& result, Console& console) {
  std::string folder = result.folder.string();
  console.say(
      fmt::format("settings:   {0}/run.toml\n\nTry next:\n"
                  "  troika predict {0} --data 'digits:test[0:5]'\n"
                  "  troika train {0}/run.toml optimizer.name=adam optimizer.learning_rate=0.002\n"
                  "  troika inspect {0}",
                  folder));
}

/// The name may be left out before key=value.
DemoArguments with_name(DemoArguments arguments) {
  if (arguments.name.find('=') == std::string::npos) return arguments;
  arguments.overrides.insert(arguments.overrides.begin(), arguments.name);
  arguments.name = DemoArguments{}.name;
  return arguments;
}

void run(const DemoArguments& arguments, Context& context) {
  const Demo& demo = find_demo(arguments.name);
  refuse_mpirun("demo");
  context.console.say(fmt::format("demo '{}': {}\n", demo.name, demo.description));
  RunFile file = parse_run(demo.run_file, fmt::format("demo '{}'", demo.name), arguments.overrides);
  RunRequest request{.config = file.config, .fallback_name = demo.name};
  if (arguments.overwrite) request.if_taken = IfTaken::replace;
  std::optional<RunResult> result = drive_run(request, context);
  if (result && result->outcome.interrupted) context.exit_code = kInterruptedExitCode;
  if (!result || result->outcome.interrupted) return;
  constexpr Metric kTestAccuracy{Metric::Set::test, Metric::Measure::accuracy};
  if (std::optional<double> accuracy = result->outcome.value_of(kTestAccuracy))
    context.console.say(fmt::format("\nfinal test accuracy: {}", percent(*accuracy)));
  say_what_next(*result, context.console);
}

}  // namespace

Verb add_demo(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<DemoArguments>();  // shared by the parser and the verb
  CLI::App* app = parent.add_subcommand("demo", "Train a small built-in example; needs no files");
  std::string names;
  for (const Demo& demo : kDemos) names += fmt::format("{} ({})", demo.name, demo.description);
  app->add_option("NAME", arguments->name, "The example: " + names)->capture_default_str();
  app->add_option("key=value", arguments->overrides,
                  "Replaces a value of its run file, such as train.epochs=1");
  app->add_flag("--overwrite", arguments->overwrite,
                "Delete the run folder of an earlier demo instead of using a new name");
  app->footer("Example:\n  troika demo digits train.epochs=2");
  return {app, [arguments, &context] { run(with_name(*arguments), context); }};
}

}  // namespace troika::cli
