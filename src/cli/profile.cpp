#include "cli/profile.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "cli/number_option.h"
#include "cli/profile_links.h"
#include "cli/text_table.h"
#include "config/load_run.h"
#include "cost/table_json.h"
#include "train/training_run.h"

namespace troika::cli {
namespace {

struct ProfileArguments {
  bool links = false;
  LinksRequest request;  // of links; `out` and `json` are everyone's
  std::string run;
  std::vector<std::string> overrides;
};

/// Compiling the programs of the run asks for the time of every kernel they may use.
void profile_kernels(const ProfileArguments& arguments, Console& console) {
  RunConfig config = load_run(arguments.run, arguments.overrides);
  config.kernels.measure = true;
  auto source = [&](const zoo::Samples& samples) { return build_model(config.model, samples); };
  auto start = std::chrono::steady_clock::now();
  TrainingRun training(config, source, open_sets(config), {.measures_anew = true});
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const RuntimeSetup& setup = training.live().setup();
  if (!setup.costs)
    throw Error(ErrorKind::usage,
                "the reference kernels leave no choice, so there is nothing to measure; "
                "set kernels.backend=cpu");
  const MeasuredCosts& costs = *setup.costs;
  if (!arguments.request.out.empty())
    replace_file(arguments.request.out, to_json(training.live().kernels(), setup.device().kind()));
  const std::string& why_not = costs.why_not_kept();
  std::string kept = why_not.empty() ? costs.file().string() : "";
  if (arguments.request.json)
    return console.print(nlohmann::ordered_json{
        {"device", setup.device().kind()},
        {"kernels", costs.measured()},
        {"rows", training.live().kernels().size()},
        {"seconds", taken.count()},
        {"measuring_seconds", costs.measuring_seconds()},
        {"checking_seconds", costs.checking_seconds()},
        {"checked", costs.checked()},
        {"left_out", costs.left_out().size()},
        {"file", kept}}.dump());
  std::vector<Fact> facts{{"device", setup.device().kind()},
                          {"measured", fmt::format("{} kernels in {}", costs.measured(),
                                                   duration(costs.measuring_seconds()))},
                          {"checked", fmt::format("{} kernels in {}", costs.checked(),
                                                  duration(costs.checking_seconds()))},
                          {"in all", duration(taken.count())},
                          {"kept in", kept.empty() ? "no file: " + why_not : kept}};
  for (const LeftOutKernel& kernel : costs.left_out())
    facts.push_back({"left out", to_text(kernel)});
  console.write(format_facts(facts));
}

void run(const ProfileArguments& arguments, Context& context) {
  if (arguments.links != arguments.run.empty())
    throw Error(ErrorKind::usage,
                "'troika profile' measures either the kernels of a run file, as in "
                "'troika profile run.toml', or links, as in 'troika profile --links'");
  if (arguments.links) return profile_links(arguments.request, context.console);
  profile_kernels(arguments, context.console);
}

void add_link_options(CLI::App& app, LinksRequest& request) {
  take_whole(app.add_option("--devices", request.devices,
                            "With --links: numbers of threads, such as 2,4,8"),
             {.least = 2, .most = 256})
      ->delimiter(',');
  take_number(
      app.add_option("--seconds", request.seconds, "With --links: about how long it may take"),
      Zero::refused)
      ->capture_default_str();
  app.add_option("--timeout", request.timeout,
                 "With --links, over MPI: how long a rank may be silent; default 2s");
  app.add_flag("--pin", request.pins, "With --links: each thread on a core of its own");
  app.add_flag("--check", request.checks,
               "With --links: measure nothing new; hold the file's predictions against the clock");
  app.add_option("--bytes", request.bytes, "With --check: sizes, such as 8,64KiB,1MiB")
      ->delimiter(',');
}

}  // namespace

Verb add_profile(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<ProfileArguments>();  // shared by the parser and the verb
  CLI::App* app = parent.add_subcommand(
      "profile", "Measure kernels or links into a cost file the planner reads");
  app->add_option("RUN.toml", arguments->run, "Measure the kernels of this run anew");
  app->add_option("key=value", arguments->overrides, "Laid over the run file");
  app->add_flag("--links", arguments->links,
                "Measure messages and collectives: between threads, or under mpirun between ranks");
  app->add_option("--out", arguments->request.out,
                  "The file to write; default: in the user's cache folder, where runs look");
  add_link_options(*app, arguments->request);
  app->add_flag("--json", arguments->request.json, "Print JSON");
  app->footer(
      "Example: measure the links inside this process and between processes, then check them\n"
      "  troika profile --links\n  mpirun -n 2 troika profile --links\n"
      "  troika profile --links --check");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
