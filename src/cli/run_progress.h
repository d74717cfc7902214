// What a person sees of a run that goes on: one live line on a terminal, plain lines elsewhere, all
// of it in the log too.
#pragma once

#include "base/log.h"
#include "cli/console.h"
#include "train/progress.h"

namespace troika::cli {

/// "step 150/314  epoch 0.96  loss 0.1234  812 samples/s  ETA 12 s  data wait 3 %"
std::string step_line(const StepReport& report);
/// "step 157  epoch 1.00  test_loss 0.1234  test_accuracy 97.20 %"
std::string evaluation_line(const EvaluationReport& report);

class RunProgress final : public Progress {
 public:
  explicit RunProgress(Console& console) : console_(console) {}

  /// From now on lines go there too; borrowed.
  void log_to(Log* log) { log_ = log; }

  void begin(const std::vector<Fact>& facts) override;
  void step(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;
  void saved(const std::string& folder) override;
  void note(const std::string& sentence) override;
  void warn(const std::string& sentence) override;

 private:
  void log(LogLevel level, const std::string& line);

  Console& console_;
  Log* log_ = nullptr;
};

}  // namespace troika::cli
