// What a person watches while a run goes on. The training reports; the terminal, a test or nobody
// listens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "train/figures.h"

namespace troika {

/// One row of the table shown before the first step.
struct Fact {
  std::string name;
  std::string value;
};

/// Where the time of the devices here went, on average; they add up to 1.
struct TimeShares {
  double compute = 0;
  double optimizer = 0;
  double moving = 0;   ///< Messages, with nothing else to do.
  double waiting = 0;  ///< For a peer.
  double data = 0;     ///< For samples.
  double other = 0;
};

struct StepReport {
  std::int64_t step = 0;  ///< Steps done, from 1.
  std::int64_t total_steps = 0;
  double epoch = 0;    ///< Passes over the data so far.
  double seconds = 0;  ///< Since the start of the run, without the time between two processes.
  std::int64_t samples = 0;
  double loss = 0;  ///< Mean since the last report.
  double learning_rate = 0;
  double samples_per_second = 0;
  std::optional<double> tokens_per_second{};  ///< Of sequences: those that are predicted.
  double step_ms = 0;
  double data_wait = 0;           ///< Share of the time spent waiting for data,
  double communication_wait = 0;  ///< and for messages, on the device that waits most.
  TimeShares shares{};
  std::vector<std::pair<std::string, double>> more{};  ///< Losses of further graphs, by name.
};

struct EvaluationReport {
  std::int64_t step = 0;
  double epoch = 0;
  double seconds = 0;
  Metric::Set set = Metric::Set::test;
  Figures figures{};
};

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void begin(const std::vector<Fact>&) {}
  /// A report that is due.
  virtual void step(const StepReport&) {}
  /// After every other step: what would be reported if it were due now.
  virtual void moved(const StepReport&) {}
  virtual void evaluated(const EvaluationReport&) {}
  virtual void saved(const std::string& /*folder*/) {}
  virtual void note(const std::string&) {}
  virtual void warn(const std::string&) {}
};

}  // namespace troika
