#include "cli/drive_run.h"

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/retention.h"
#include "cli/rank_log.h"
#include "cli/run_progress.h"
#include "cli/stop_signals.h"
#include "cli/text_table.h"
#include "train/run_record.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

/// Weights, and where the run goes on.
void prepare(Trainer& trainer, const RunRequest& request, Progress& progress) {
  if (request.resume) {
    if (auto found = find_newest_checkpoint(RunFolder::open(*request.resume).checkpoints())) {
      if (!found->warning.empty()) progress.warn(found->warning);
      trainer.resume(Checkpoint::open(found->folder));
      return progress.note(fmt::format("goes on from {}", found->folder.string()));
    }
    progress.note(fmt::format("{} has no checkpoint yet; starts from the beginning",
                              request.resume->string()));
  }
  if (!request.from) return trainer.initialize();
  std::vector<std::string> fresh = trainer.start_from(*request.from);
  progress.note(fmt::format("starts from the weights of {}", request.from->string()));
  if (!fresh.empty())
    progress.warn(fmt::format("{} parameters are not there in that shape and start afresh: {}",
                              fresh.size(), fmt::join(fresh, ", ")));
}

std::string describe_end(const TrainOutcome& outcome) {
  std::string text = fmt::format("finished step {} after {}: loss {:.4f}", outcome.step,
                                 duration(outcome.seconds), outcome.loss);
  if (!outcome.evaluation) return text;
  text += fmt::format(", test_loss {:.4f}", outcome.evaluation->test_loss);
  if (outcome.evaluation->test_accuracy)
    text += ", test_accuracy " + percent(*outcome.evaluation->test_accuracy);
  return outcome.reached_target ? text + "; the target is reached" : text;
}

void report_end(const RunResult& result, std::int64_t first_step, Progress& progress) {
  const TrainOutcome& outcome = result.outcome;
  std::string folder = result.folder.string();
  if (outcome.interrupted)
    return progress.note(
        fmt::format("stopped after step {} and saved; go on with: troika train --resume {}",
                    outcome.step, folder));
  if (outcome.step == first_step && first_step > 0)
    return progress.note(
        fmt::format("the run is complete at step {}; to train longer: troika train --resume {} "
                    "train.epochs=N",
                    outcome.step, folder));
  progress.note(describe_end(outcome));
  progress.note("run folder: " + folder);
}

/// One run with its folder and log open.
class Drive {
 public:
  Drive(const RunRequest& request, Context& context)
      : request_(request), progress_(context.console) {}

  std::optional<RunResult> run() {
    if (request_.resume) open_log(RunFolder::open(*request_.resume));
    try {
      return train();
    } catch (const Error& error) {
      log_failure(error.what(), error.exit_code());
      throw;
    } catch (const std::exception& error) {
      log_failure(error.what(), kBugExitCode);
      throw;
    }
  }

 private:
  std::optional<RunResult> train() {
    const RunConfig& config = request_.config;
    auto source = [&](const zoo::Samples& samples) { return build_model(config.model, samples); };
    StopSignals signals;
    TrainHooks hooks{.progress = &progress_, .stop_requested = [&] { return signals.requested(); }};
    if (request_.resume) hooks.costs = recorded_costs(RunFolder::open(*request_.resume));
    Trainer trainer(config, source, open_sets(config), hooks);
    if (request_.dry_run) {
      progress_.begin(trainer.facts());
      return std::nullopt;
    }
    RunFolder folder = request_.resume ? RunFolder::open(*request_.resume)
                                       : RunFolder::create(config, request_.fallback_name);
    if (!log_) open_log(folder);
    progress_.begin(trainer.facts());
    prepare(trainer, request_, progress_);
    std::error_code none;
    fs::remove(folder.stop(), none);  // a wish of an earlier run
    write_record(folder, config, trainer);
    std::int64_t first_step = trainer.state().step;
    RunResult result{trainer.run(&folder), folder.path()};
    fs::remove(folder.stop(), none);
    report_end(result, first_step, progress_);
    return result;
  }

  void open_log(const RunFolder& folder) {
    log_.emplace(folder.path() / "logs" / "rank-0");
    progress_.log_to(&*log_);
  }

  void log_failure(const std::string& sentence, int code) {
    if (log_) log_->write(LogLevel::error, fmt::format("{} (exit code {})", sentence, code));
  }

  const RunRequest& request_;
  RunProgress progress_;
  std::optional<RankLog> log_;
};

}  // namespace

std::optional<RunResult> drive_run(const RunRequest& request, Context& context) {
  return Drive(request, context).run();
}

}  // namespace troika::cli
