// `troika train`: trains what a run file describes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
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
  bool resume = false;
  std::string from;
  bool best = false;
  bool dry_run = false;
  bool overwrite = false;
  std::string name;
  std::string timeout;
  bool json = false;
};

std::vector<std::string> all_overrides(const TrainArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.name.empty()) overrides.push_back("run.name=" + arguments.name);
  if (arguments.devices > 0)
    overrides.push_back("parallel.devices=" + std::to_string(arguments.devices));
  return overrides;
}

/// The run folder that --resume means by a folder, or by the run.toml inside of one.
std::optional<fs::path> named_folder(const TrainArguments& arguments) {
  fs::path target(arguments.target), parent = fs::absolute(target).parent_path();
  if (is_run_folder(target)) return target;
  if (target.filename() == "run.toml" && fs::is_directory(parent / "checkpoints")) return parent;
  return std::nullopt;
}

/// The run file to read, which is that of the run folder where --resume names one.
std::string run_file(const TrainArguments& arguments) {
  if (!arguments.resume) {
    if (is_run_folder(arguments.target))
      throw Error(
          ErrorKind::usage,
          fmt::format("'{0}' is a run folder; resume it with troika train --resume {0}, or start a "
                      "new run with troika train {0}/run.toml",
                      arguments.target));
    return arguments.target;
  }
  if (std::optional<fs::path> folder = named_folder(arguments))
    return (*folder / "run.toml").string();
  if (fs::is_directory(arguments.target))
    throw Error(ErrorKind::file,
                fmt::format("'{}' is not a run folder: it has no run.toml", arguments.target));
  return arguments.target;
}

HeartbeatOptions heartbeat_of(const HeartbeatConfig& heartbeat, const std::string& timeout) {
  return {.times = parse_timeout(timeout),
          .is_on = heartbeat.enabled,
          .listen = {.interface = heartbeat.interface,
                     .first_port = static_cast<int>(heartbeat.ports.first),
                     .last_port = static_cast<int>(heartbeat.ports.last)}};
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

void refuse_contradictions(const TrainArguments& arguments) {
  if (arguments.resume && !arguments.from.empty())
    throw Error(ErrorKind::usage,
                "'--resume' continues a run and '--from' starts a new one; give one of them");
  if (arguments.best && !arguments.resume && arguments.from.empty())
    throw Error(ErrorKind::usage,
                "--best chooses a checkpoint of an earlier run; add --resume or --from RUN");
  if (arguments.resume && arguments.overwrite)
    throw Error(ErrorKind::usage,
                "'--resume' continues a run and '--overwrite' deletes it; give one of them");
}

RunRequest make_request(const TrainArguments& arguments, RunConfig config) {
  RunRequest request{.config = std::move(config),
                     .pick = arguments.best ? Pick::best : Pick::newest,
                     .dry_run = arguments.dry_run,
                     .if_taken = arguments.overwrite ? IfTaken::replace : IfTaken::next_name};
  if (arguments.resume) {
    std::optional<fs::path> folder = named_folder(arguments);
    request.resume = folder ? *folder : newest_run_folder(request.config, arguments.target);
    return request;
  }
  request.fallback_name = name_of_run(arguments.target);
  if (!arguments.from.empty()) request.from = arguments.from;
  return request;
}

/// If a new run fails because of its file, throws all errors of that file with their lines.
void explain_failure(const Error& failure, const TrainArguments& arguments, RunReading reading) {
  bool may_be_of_file = failure.kind() == ErrorKind::usage || failure.kind() == ErrorKind::file;
  if (may_be_of_file && !arguments.resume) check_run_file(std::move(reading));
}

/// The run file and the settings of the heartbeat, which are needed before the ranks meet. An error
/// is kept until they have met, so that the job reports it once.
struct EarlyDraft {
  std::optional<RunDraft> draft;
  HeartbeatOptions heartbeat;
  std::exception_ptr error;
};

EarlyDraft read_early(const TrainArguments& arguments) {
  try {
    refuse_contradictions(arguments);
    RunDraft draft = read_draft(run_file(arguments), all_overrides(arguments));
    HeartbeatOptions heartbeat = heartbeat_of(draft.config.heartbeat, arguments.timeout);
    return {.draft = std::move(draft), .heartbeat = heartbeat};
  } catch (const Error&) {
    return {.error = std::current_exception()};
  }
}

std::optional<RunResult> train(const TrainArguments& arguments, const RunDraft& draft,
                               Context& context, const RankSeat& seat) {
  const RunReading reading = settle(draft, seat.ranks->count());
  try {
    RunRequest request =
        or_give_up(seat, [&] { return make_request(arguments, require_flawless(reading).config); });
    return drive_run(request, context, seat);
  } catch (const Error& failure) {
    // Not under mpirun: every rank would check and report the file again.
    if (!seat.is_launched()) explain_failure(failure, arguments, reading);
    throw;
  }
}

void run(const TrainArguments& arguments, Context& context) {
  const EarlyDraft early = read_early(arguments);
  // Before anything is printed: progress would mix with the JSON on stdout.
  if (arguments.json) context.console.reserve_out();
  run_in_seat(context, early.heartbeat, [&](const RankSeat& seat) {
    or_give_up(seat, [&] {
      if (early.error) std::rethrow_exception(early.error);
    });
    std::optional<RunResult> result = train(arguments, *early.draft, context, seat);
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
                             "Total number of devices; the plan is \"data\" unless one is named"));
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
