#include "cli/drive_run.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "checkpoint/retention.h"
#include "cli/outside_writes.h"
#include "cli/rank_log.h"
#include "cli/run_progress.h"
#include "cli/stop_signals.h"
#include "cli/text_table.h"
#include "cli/version.h"
#include "setup/auto_plan.h"
#include "setup/device_counts.h"
#include "setup/known_links.h"
#include "setup/optimizer_rules.h"
#include "train/run_record.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the checkpoint to resume, or the weights of --from; empty if there is none. The first
/// rank finds it for all. Call it once: to find the newest checkpoint, all its bytes are verified.
fs::path find_start(const RunRequest& request, const RankSeat& seat, Progress& progress) {
  if (!request.from && !request.resume) return {};
  std::string found;
  if (seat.is_first()) {
    if (request.from) {
      found = find_weights(*request.from, request.pick).string();
    } else if (request.pick == Pick::best) {
      found = find_checkpoint(*request.resume, Pick::best).string();
    } else if (auto newest = find_newest_checkpoint(*request.resume / "checkpoints")) {
      if (!newest->warning.empty()) progress.warn(newest->warning);
      found = newest->folder.string();
    }
  }
  // Ranks that looked for themselves might see different checkpoints on a slow network disk.
  return seat.ranks->agree(found);
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code ignored;
  fs::path relative =
      fs::weakly_canonical(path, ignored).lexically_relative(fs::weakly_canonical(folder, ignored));
  // lexically_relative is empty if there is no relative path.
  return !relative.empty() && *relative.begin() != "..";
}

RunFolder create_first(const RunRequest& request) {
  fs::path wanted = RunFolder::wanted_path(request.config, request.fallback_name);
  if (request.if_taken == IfTaken::replace && request.from && is_inside(*request.from, wanted))
    throw Error(ErrorKind::usage,
                fmt::format("--from '{}' is in the run folder that --overwrite would delete; "
                            "give another --name",
                            request.from->string()));
  return RunFolder::create(request.config, request.fallback_name, request.if_taken);
}

/// The first rank creates it, the others open it.
RunFolder create_folder(const RunRequest& request, const RankSeat& seat) {
  std::optional<RunFolder> made;
  if (seat.is_first()) made = create_first(request);
  std::string path = seat.ranks->agree(made ? made->path().string() : "");
  if (made) return std::move(*made);
  if (!fs::is_directory(path))
    throw Error(
        ErrorKind::file,
        fmt::format(
            "the run folder '{}' of the first rank does not exist on {}; put run.folder on a "
            "disk that all ranks share",
            path, seat.ranks->host()));
  return RunFolder::open(path);
}

RunFolder resumed_folder(const RunRequest& request, const RankSeat& seat) {
  // One lease per run: it belongs to the first rank, which writes for all.
  bool writes = seat.is_first() && !request.dry_run;
  return writes ? RunFolder::open_to_write(*request.resume) : RunFolder::open(*request.resume);
}

std::string describe_end(const TrainOutcome& outcome) {
  std::string text =
      fmt::format("finished step {} after {}", outcome.step, duration(outcome.seconds));
  if (outcome.loss) text += fmt::format(": loss {:.4f}", *outcome.loss);
  for (const EvaluationReport& report : outcome.evaluations)
    text += fmt::format(", {}", fmt::join(figures_text(report), ", "));
  if (outcome.stopped_early) return text + "; stopped early (train.patience)";
  return outcome.reached_target ? text + "; train.until is reached" : text;
}

void report_end(const RunResult& result, std::int64_t first_step, Progress& progress) {
  const TrainOutcome& outcome = result.outcome;
  std::string folder = result.folder.string();
  if (outcome.interrupted)
    return progress.note(
        fmt::format("stopped after step {} and saved; resume with: troika train --resume {}",
                    outcome.step, folder));
  if (outcome.step == first_step && first_step > 0)
    return progress.note(fmt::format(
        "the run is complete at step {}; to train longer: troika train --resume {} {}",
        outcome.step, folder, outcome.stopped_early ? "train.patience=N" : "train.epochs=N"));
  progress.note(describe_end(outcome));
  progress.note("run folder: " + folder);
}

/// "a step took 120 ms, 34 % longer than predicted (89 ms); ..."
std::string drift_text(const StepDrift& drift, const fs::path& folder, bool may_replan) {
  SimTime predicted{drift.predicted.count()}, measured{drift.measured.count()};
  double part = static_cast<double>(measured.count) / static_cast<double>(predicted.count) - 1;
  std::string text = fmt::format(
      "a step took {}, {:.0f} % {} than predicted ({}); 'troika simulate --against {}' says where",
      to_string(measured), 100 * std::abs(part), part > 0 ? "longer" : "less", to_string(predicted),
      folder.string());
  if (!may_replan) return text;
  return text + fmt::format(", 'troika plan --from {}' looks for a better plan", folder.string());
}

/// One run with its folder and log open.
class Drive {
 public:
  Drive(RunRequest request, Context& context, const RankSeat& seat)
      : request_(std::move(request)),
        invocation_{kVersion, context.command},
        seat_(seat),
        progress_(context.console) {}

  std::optional<RunResult> run() {
    try {
      return train();
    } catch (const SharedError& error) {
      // run_in_seat() catches a shared error, so the last words of the rank do not contain it.
      log_failure(error.what(), error.exit_code());
      throw;
    } catch (const std::exception& error) {
      if (!seat_.is_launched()) log_failure(error.what(), exit_code_of(error));
      throw;  // launched ranks write it to their logs themselves
    }
  }

 private:
  std::optional<RunResult> train() {
    // Before the set-up, which may take minutes: a stop request meanwhile is obeyed after the first
    // step, with a checkpoint.
    StopSignals signals(seat_.is_launched() ? StopSignals::Launcher::mpirun
                                            : StopSignals::Launcher::none);
    or_give_up(seat_, [&] { set_up(signals); });
    // A rank that failed to set up joins this exchange with its error, so none starts without it.
    seat_.ranks->exchange("ready");
    if (request_.dry_run) return std::nullopt;
    std::int64_t first_step = training_->state().step;
    RunResult result{training_->run(&*folder_), folder_->path()};
    forget_stop();
    report_end(result, first_step, progress_);
    report_drift(result);
    if (result.outcome.interrupted && log_)
      log_->write(LogLevel::info, fmt::format("exit code {}", kInterruptedExitCode));
    seat_.ranks->exchange("done");
    return result;
  }

  void report_drift(const RunResult& result) {
    if (!result.outcome.drift) return;
    bool may_replan = training_->model().graphs.size() == 1 &&
                      training_->live().setup().machine.devices.size() > 1;
    progress_.note(drift_text(*result.outcome.drift, result.folder, may_replan));
  }

  void set_up(const StopSignals& signals) {
    const RunConfig& config = request_.config;
    if (request_.resume) request_.resume = seat_.ranks->agree(request_.resume->string());
    if (request_.resume) {
      for (const std::string& sentence :
           writes_outside(*request_.resume, config, seat_.ranks->rank()))
        progress_.warn(sentence);  // before anything is written
      // The lease comes before the checkpoints are read: another process may still be writing.
      folder_ = resumed_folder(request_, seat_);
      if (!request_.dry_run) open_log(*folder_);
      if (!folder_->takeover().empty()) progress_.warn(folder_->takeover());
    }
    auto source = [&](const zoo::Samples& samples) { return build_model(config.model, samples); };
    TrainHooks hooks{.progress = &progress_,
                     .stop_requested = [&] { return signals.requested(); },
                     .ranks = seat_.ranks};
    if (request_.resume) hooks.costs = recorded_costs(*folder_);
    if (config.parallel.plan.is_auto()) hooks.strategy = find_strategy(source);
    const fs::path start = find_start(request_, seat_, progress_);
    std::optional<data::Encoding> weights_from;
    // The data is opened in the unit of the weights, so they must be found first.
    if (!start.empty()) weights_from = encoding_of_weights(start);
    training_.emplace(config, source, open_sets(config, weights_from), hooks);
    if (request_.dry_run) {
      if (seat_.is_first()) progress_.begin(training_->facts());
      return;
    }
    // A new folder is created only now, so that a run that cannot be built leaves none behind.
    if (!folder_) {
      folder_ = create_folder(request_, seat_);
      open_log(*folder_);
      say_other_name();
    }
    if (seat_.is_first()) progress_.begin(training_->facts());
    prepare(start);
    forget_stop();
    // Last, once the run is ready to start: run.toml marks the folder as a run.
    if (seat_.is_first()) write_record(*folder_, config, *training_, invocation_);
  }

  /// The plan for parallel.plan = "auto": that of the run to resume, or the result of a search over
  /// numbers of devices, unless the run file says how many. Ranks search later, for their machine.
  std::optional<Strategy> find_strategy(const ModelSource& source) {
    RunConfig& config = request_.config;
    if (request_.resume) return load_strategy((folder_->path() / "plan.json").string());
    if (seat_.ranks->count() > 1) return std::nullopt;
    const TrainingSets sets = open_sets(config);
    zoo::Model model =
        source(samples_of(sets.train->encoding(), config, config.train.global_batch));
    freeze_parameters(model, config.train.freeze);
    const LinkCosts links = known_link_costs(default_links_file(config.kernels.cache));
    AutoPlanRequest asked{config, model, links, {}};
    bool is_open = config.parallel.devices == 1;
    asked.machines = is_open ? machines_here(config)
                             : std::vector{machine_here(config.kernels, config.parallel)};
    AutoPlan found = find_auto_plan(asked);
    for (const std::string& reason : found.reasons) progress_.note("plan: " + reason);
    config.parallel.devices = found.devices;
    return found.strategy;
  }

  /// Loads the weights and the position from which the run continues.
  void prepare(const fs::path& start) {
    if (request_.resume && !start.empty()) {
      training_->resume(Checkpoint::open(start));
      // Newer checkpoints belong to a course that this run abandons.
      if (request_.pick == Pick::best && seat_.is_first())
        rewind_to_best_checkpoint(*request_.resume / "checkpoints");
      return progress_.note(fmt::format("resumed from {}", start.string()));
    }
    if (request_.resume)
      progress_.note(fmt::format("'{}' has no checkpoint yet; starting from the beginning",
                                 request_.resume->string()));
    if (start.empty()) return training_->initialize();
    std::vector<std::string> fresh = training_->start_from(start);
    progress_.note(fmt::format("starts from the weights of {}", start.string()));
    if (!fresh.empty())
      progress_.warn(
          fmt::format("{} parameters are missing there or have another shape, and start from "
                      "random values: {}",
                      fresh.size(), fmt::join(fresh, ", ")));
  }

  void say_other_name() {
    fs::path wanted = RunFolder::wanted_path(request_.config, request_.fallback_name);
    if (folder_->path() != wanted)
      progress_.note(
          fmt::format("{} exists, so this run is {}; --overwrite would replace the old one",
                      wanted.string(), folder_->path().string()));
  }

  /// Removes a stop request that was obeyed, or left over from an earlier run.
  void forget_stop() {
    std::error_code none;
    if (seat_.is_first()) fs::remove(folder_->stop(), none);
  }

  void open_log(const RunFolder& folder) {
    fs::path path = folder.path() / "logs" / fmt::format("rank-{}", seat_.ranks->rank());
    log_.emplace(path, seat_.is_leaving);
    progress_.log_to(&*log_);
    if (seat_.keep_last_words) seat_.keep_last_words(path);
  }

  void log_failure(const std::string& sentence, int code) {
    if (log_) log_->write(LogLevel::error, fmt::format("{} (exit code {})", sentence, code));
  }

  RunRequest request_;
  const Invocation invocation_;
  const RankSeat& seat_;
  RunProgress progress_;
  std::optional<RankLog> log_;
  std::optional<TrainingRun> training_;
  std::optional<RunFolder> folder_;
};

}  // namespace

std::optional<RunResult> drive_run(const RunRequest& request, Context& context,
                                   const RankSeat& seat) {
  return Drive(request, context, seat).run();
}

}  // namespace troika::cli
