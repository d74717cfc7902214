// The interface through which a run reports its progress, and the reports themselves. The terminal
// and tests implement it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/metric.h"

namespace troika {

/// The value of one measure on a set of samples.
struct Figure {
  Metric::Measure measure;
  double value;

  bool operator==(const Figure&) const = default;
};

/// At most one of each measure; the loss comes first.
using Figures = std::vector<Figure>;

inline std::optional<double> find(const Figures& figures, Metric::Measure measure) {
  auto found = std::ranges::find(figures, measure, &Figure::measure);
  return found == figures.end() ? std::nullopt : std::optional(found->value);
}

/// Each figure under the name of its metric, such as "test_loss", for JSON.
inline std::vector<std::pair<std::string, double>> named_figures(Metric::Set set,
                                                                 const Figures& figures) {
  std::vector<std::pair<std::string, double>> named;
  for (const Figure& figure : figures)
    named.emplace_back(to_word(Metric{set, figure.measure}), figure.value);
  return named;
}

/// One row of the table shown before the first step.
struct Fact {
  std::string name;
  std::string value;
};

/// How the devices of this process spent their time, on average. The shares add up to 1.
struct TimeShares {
  double compute = 0;
  double optimizer = 0;
  double moving = 0;   ///< Moving messages with nothing else to do.
  double waiting = 0;  ///< Waiting for a peer.
  double data = 0;     ///< Waiting for samples.
  double other = 0;
};

struct StepReport {
  std::int64_t step = 0;  ///< Steps done, from 1.
  std::int64_t total_steps = 0;
  double epoch = 0;    ///< Passes over the data so far.
  double seconds = 0;  ///< Training time of the run, over all processes that continued it.
  std::int64_t samples = 0;
  double loss = 0;  ///< Mean since the last report.
  double learning_rate = 0;
  double samples_per_second = 0;
  std::optional<double> tokens_per_second{};  ///< Predicted tokens; only for sequences.
  double step_ms = 0;
  double data_wait = 0;           ///< Share of the time spent waiting for samples.
  double communication_wait = 0;  ///< The same for messages, on the device that waits most.
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

/// All calls come from the thread that drives the run. The defaults ignore everything.
class Progress {
 public:
  virtual ~Progress() = default;
  /// Called before the first step.
  virtual void begin(const std::vector<Fact>&) {}
  /// Called when a report is due.
  virtual void step(const StepReport&) {}
  /// Called after every other step, with what a report would contain now.
  virtual void moved(const StepReport&) {}
  virtual void evaluated(const EvaluationReport&) {}
  virtual void saved(const std::string& /*folder*/) {}
  virtual void note(const std::string&) {}
  virtual void warn(const std::string&) {}
};

}  // namespace troika
