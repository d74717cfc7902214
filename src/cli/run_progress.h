// Shows the progress of a run: one live line on a terminal, plain lines elsewhere, and everything
// in the log.
#pragma once

#include <chrono>
#include <functional>

#include "base/log.h"
#include "cli/console.h"
#include "train/progress.h"

namespace troika::cli {

/// "step 150/314  epoch 0.96  loss 0.1234  812 samples/s  ETA 12 s  data wait 3 %"
std::string step_line(const StepReport& report);
/// The same in at most `width` columns; the least important parts are left out first.
std::string live_line(const StepReport& report, std::size_t width);
/// "step 157  epoch 1.00  test_loss 0.1234  test_accuracy 97.20 %"
std::string evaluation_line(const EvaluationReport& report);

class RunProgress final : public Progress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RunProgress(Console& console, std::function<Clock::time_point()> now = Clock::now)
      : console_(console), now_(std::move(now)) {}

  /// Lines are also written to this log from now on. Borrowed.
  void log_to(Log* log) { log_ = log; }

  void begin(const std::vector<Fact>& facts) override;
  void step(const StepReport& report) override;
  /// Updates only the live line, at most every 100 ms.
  void moved(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;
  void saved(const std::string& folder) override;
  void note(const std::string& sentence) override;
  void warn(const std::string& sentence) override;

 private:
  void log(LogLevel level, const std::string& line);
  void show_live(const StepReport& report);

  Console& console_;
  std::function<Clock::time_point()> now_;
  Clock::time_point shown_{};  // when the live line last changed
  Log* log_ = nullptr;
};

}  // namespace troika::cli
