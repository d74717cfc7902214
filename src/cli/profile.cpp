// `troika profile`: measures kernels or links and writes a cost file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "cli/checked_option.h"
#include "cli/profile_links.h"
#include "cli/rank_seat.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "config/load_run.h"
#include "cost/table_json.h"
#include "train/training_run.h"

namespace troika::cli {
namespace {

struct ProfileArguments {
  bool links = false;
  LinksRequest request;  // of links; `out` and `json` are also used for kernels
  std::string run;
  std::vector<std::string> overrides;
};

/// Compiling the programs of the run measures every kernel they may use.
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
                "reference kernels and a fixed order leave nothing to choose; set "
                "kernels.backend=cpu and parallel.order=fast");
  const MeasuredCosts& costs = *setup.costs;
  if (!arguments.request.out.empty())
    replace_file(arguments.request.out, to_json(training.live().kernels()));
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
                          {"total", duration(taken.count())},
                          {"written to", kept.empty() ? "no file: " + why_not : kept}};
  for (const LeftOutKernel& kernel : costs.left_out())
    facts.push_back({"rejected", to_text(kernel)});
  console.write(format_facts(facts));
}

void run(const ProfileArguments& arguments, Context& context) {
  if (arguments.links != arguments.run.empty())
    throw Error(ErrorKind::usage,
                "'troika profile' measures either the kernels of a run file, as in "
                "'troika profile run.toml', or links, as in 'troika profile --links'");
  if (arguments.links) return profile_links(arguments.request, context.console);
  refuse_mpirun("profile");
  profile_kernels(arguments, context.console);
}

void add_link_options(CLI::App& app, LinksRequest& request) {
  take_whole(app.add_option("--devices", request.devices,
                            "With --links: numbers of threads, such as 2,4,8"),
             {.least = 2, .most = 256})
      ->delimiter(',');
  take_number(app.add_option("--seconds", request.seconds, "With --links: approximate duration"),
              Zero::refused)
      ->capture_default_str();
  app.add_option("--timeout", request.timeout,
                 "With --links under mpirun: how long a rank may be silent before it counts as "
                 "lost; default 2s");
  app.add_flag("--pin", request.pins, "With --links: pin each thread to a core");
  app.add_flag("--check", request.checks,
               "With --links: compare the predictions of the file with new measurements");
  app.add_option("--bytes", request.bytes, "With --check: sizes, such as 8,64KiB,1MiB")
      ->delimiter(',');
}

}  // namespace

Verb add_profile(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<ProfileArguments>();  // shared by the parser and the verb
  CLI::App* app =
      parent.add_subcommand("profile", "Measure kernels or links and write a cost file");
  app->add_option("RUN.toml", arguments->run, "Run file whose kernels are measured again");
  app->add_option("key=value", arguments->overrides, "Replaces a value of the run file");
  app->add_flag("--links", arguments->links,
                "Measure messages and collectives between threads, or under mpirun between ranks");
  app->add_option("--out", arguments->request.out,
                  "The file to write; default: a file in the user's cache folder, which runs read");
  add_link_options(*app, arguments->request);
  app->add_flag("--json", arguments->request.json, "Print JSON");
  app->footer(
      "Example: measure the links inside this process and between processes, then check them\n"
      "  troika profile --links\n  mpirun -n 2 troika profile --links\n"
      "  troika profile --links --check");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
