// `troika train`: trains what a run file describes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/exit_code.h"
#include "cli/checked_option.h"
#include "cli/drive_run.h"
#include "cli/rank_seat.h"
#include "cli/run_check.h"
#include "cli/run_target.h"
#include "cli/verb.h"
#include "comm/heartbeat/start_heartbeat.h"
#include "config/load_run.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string target;
  std::vector<std::string> overrides;
  int devices = 0;
  int ranks = 1;  // of the job, not an argument
  bool resume = false;
  std::string from;
  bool best = false;
  bool dry_run = false;
  bool overwrite = false;
  std::string name;
  std::string timeout;
  bool json = false;
};

/// Returns nothing if the file has errors. Other overrides may remove them.
std::optional<RunConfig> try_load(const std::string& path, std::vector<std::string> overrides) {
  try {
    return load_run(path, overrides);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::string> all_overrides(const TrainArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.name.empty()) overrides.push_back("run.name=" + arguments.name);
  if (arguments.devices > 0)
    overrides.push_back("parallel.devices=" + std::to_string(arguments.devices));
  return overrides;
}

std::vector<std::string> with_data_plan(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), "parallel.plan=data");
  return overrides;
}

/// Neither the file nor the command line names a plan for several devices. If the file cannot be
/// read with one device, either its plan is the reason, or an unrelated error.
bool names_no_plan(const std::string& path, const TrainArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  overrides.push_back("parallel.devices=1");
  if (std::optional<RunConfig> config = try_load(path, std::move(overrides)))
    return config->parallel.plan == PlanConfig{};
  return !try_load(path, with_data_plan(all_overrides(arguments)));
}

/// If -n asks for several devices and no plan is named, the plan is "data". Each rank has one
/// device unless the file or -n says more.
std::vector<std::string> settled_overrides(const std::string& path, TrainArguments arguments) {
  if (arguments.ranks > 1 && arguments.devices == 0) {
    std::optional<RunConfig> stated = try_load(path, all_overrides(arguments));
    if (!stated || stated->parallel.devices == 1) arguments.devices = arguments.ranks;
  }
  std::vector<std::string> overrides = all_overrides(arguments);
  if (arguments.devices > 1 && names_no_plan(path, arguments))
    overrides = with_data_plan(std::move(overrides));
  return overrides;
}

RunConfig load_config(const std::string& path, const TrainArguments& arguments) {
  return load_run(path, settled_overrides(path, arguments));
}

/// Read early, because the ranks watch each other from the start. Errors in the file are reported
/// by the full load.
HeartbeatOptions heartbeat_of(const TrainArguments& arguments) {
  HeartbeatOptions options{.times = parse_timeout(arguments.timeout)};
  fs::path file = is_run_folder(arguments.target) ? fs::path(arguments.target) / "run.toml"
                                                  : fs::path(arguments.target);
  std::vector<std::string> overrides = all_overrides(arguments);
  std::optional<RunConfig> config = try_load(file.string(), overrides);
  if (!config) config = try_load(file.string(), with_data_plan(std::move(overrides)));
  if (!config) return options;
  options.is_on = config->heartbeat.enabled;
  options.listen = {.interface = config->heartbeat.interface,
                    .first_port = static_cast<int>(config->heartbeat.ports.first),
                    .last_port = static_cast<int>(config->heartbeat.ports.last)};
  return options;
}

RunRequest resumed_run(const TrainArguments& arguments) {
  fs::path target(arguments.target);
  if (target.filename() == "run.toml" &&
      fs::is_directory(fs::absolute(target).parent_path() / "checkpoints"))
    target = fs::absolute(target).parent_path();
  if (is_run_folder(target))
    return {.config = load_config((target / "run.toml").string(), arguments), .resume = target};
  if (fs::is_directory(target))
    throw Error(ErrorKind::file,
                fmt::format("'{}' is not a run folder: it has no run.toml", target.string()));
  RunConfig config = load_config(target.string(), arguments);
  fs::path folder = newest_run_folder(config, target);
  return {.config = std::move(config), .resume = std::move(folder)};
}

RunRequest new_run(const TrainArguments& arguments) {
  if (is_run_folder(arguments.target))
    throw Error(
        ErrorKind::usage,
        fmt::format("'{0}' is a run folder; resume it with troika train --resume {0}, or start a "
                    "new run with troika train {0}/run.toml",
                    arguments.target));
  RunRequest request{.config = load_config(arguments.target, arguments),
                     .fallback_name = name_of_run(arguments.target)};
  if (!arguments.from.empty())
    request.from =
        arguments.best ? find_checkpoint(arguments.from, Pick::best) : fs::path(arguments.from);
  return request;
}

void print_json(const RunResult& result, Console& console) {
  const TrainOutcome& outcome = result.outcome;
  nlohmann::ordered_json json{{"run", result.folder.string()},
                              {"step", outcome.step},
                              {"loss", nullptr},
                              {"seconds", outcome.seconds},
                              {"interrupted", outcome.interrupted},
                              {"reached_target", outcome.reached_target},
                              {"stopped_early", outcome.stopped_early}};
  if (outcome.loss) json["loss"] = *outcome.loss;
  for (const EvaluationReport& report : outcome.evaluations)
    for (const auto& [name, value] : named_figures(report.set, report.figures)) json[name] = value;
  console.print(json.dump());
}

RunRequest make_request(const TrainArguments& arguments) {
  if (arguments.resume && !arguments.from.empty())
    throw Error(ErrorKind::usage,
                "'--resume' continues a run and '--from' starts a new one; give one of them");
  if (arguments.best && !arguments.resume && arguments.from.empty())
    throw Error(ErrorKind::usage,
                "--best chooses a checkpoint of an earlier run; add --resume or --from RUN");
  if (arguments.resume && arguments.overwrite)
    throw Error(ErrorKind::usage,
                "'--resume' continues a run and '--overwrite' deletes it; give one of them");
  RunRequest request = arguments.resume ? resumed_run(arguments) : new_run(arguments);
  if (arguments.overwrite) request.if_taken = IfTaken::replace;
  request.pick = arguments.best ? Pick::best : Pick::newest;
  request.dry_run = arguments.dry_run;
  return request;
}

/// If a new run fails because of its file, throws all errors of that file, with line and column.
void explain_failure(const Error& failure, const TrainArguments& arguments) {
  bool may_be_of_file = failure.kind() == ErrorKind::usage || failure.kind() == ErrorKind::file;
  if (may_be_of_file && !arguments.resume && fs::is_regular_file(arguments.target))
    check_run_file(arguments.target, settled_overrides(arguments.target, arguments));
}

void run(TrainArguments arguments, Context& context) {
  HeartbeatOptions heartbeat = heartbeat_of(arguments);
  if (arguments.json) context.console.reserve_out();
  run_in_seat(context, heartbeat, [&](const RankSeat& seat) {
    arguments.ranks = seat.count();
    std::optional<RunResult> result;
    try {
      RunRequest request = or_give_up(seat, [&] { return make_request(arguments); });
      result = drive_run(request, context, seat);
    } catch (const Error& failure) {
      if (seat.ranks == nullptr) explain_failure(failure, arguments);
      throw;
    }
    if (result && arguments.json) print_json(*result, context.console);
    if (result && result->outcome.interrupted) context.exit_code = kInterruptedExitCode;
  });
}

}  // namespace

Verb add_train(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<TrainArguments>();  // shared by the parser and the verb
  CLI::App* app = parent.add_subcommand("train", "Train a model as a run file describes");
  app->add_option("RUN.toml", arguments->target, "The run file; with --resume also a run folder")
      ->required();
  app->add_option("key=value", arguments->overrides,
                  "Replaces a value of the file, such as optimizer.learning_rate=0.1");
  take_whole(app->add_option("-n", arguments->devices,
                             "Number of devices in all; the plan is \"data\" unless one is named"));
  app->add_flag("--resume", arguments->resume,
                "Continue the newest run of this file, or this run folder");
  app->add_option("--from", arguments->from,
                  "Start from the weights of a checkpoint, run folder or .safetensors file");
  app->add_flag("--best", arguments->best,
                "With --resume or --from: take the best checkpoint instead of the newest");
  app->add_flag("--dry-run", arguments->dry_run, "Show what would run, without training");
  app->add_option("--name", arguments->name,
                  "Name of the run folder; if it exists, NAME-2 and so on");
  app->add_flag("--overwrite", arguments->overwrite,
                "Delete the run of that name instead of using NAME-2");
  app->add_option("--timeout", arguments->timeout,
                  "How long a rank may be silent before it counts as lost, such as 30s");
  app->add_flag("--json", arguments->json, "Print the result as JSON; progress goes to stderr");
  app->footer(
      "Example: train with another learning rate, stop with Ctrl-C, resume\n"
      "  troika train run.toml optimizer.learning_rate=0.02 --name slow\n  troika train --resume "
      "runs/slow\n  mpirun -n 2 troika train run.toml parallel.plan=data    # several processes");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
