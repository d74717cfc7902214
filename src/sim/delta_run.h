// Exact delta simulation: runs a loop again after a change of a few of its tasks. What the change
// does not reach is taken from the former run.
#pragma once

#include <functional>
#include <optional>

#include "sim/folded_loop.h"
#include "sim/loop_period.h"
#include "sim/loop_run.h"

namespace troika {

/// Sees each state before it is kept. For tests.
using OnState = std::function<void(LoopState&)>;

/// Keeps the run from rest until the period is known as a list of *cuts*: states, and what has run
/// since the cut before. After a change it starts at the last cut at which every lane stands before
/// its first changed task. Wherever it meets a state of the former run again, that run's future is
/// its own up to the next changed task of any lane: it takes over the cuts up to there, shifted in
/// time, and continues at the last one. So it does in every pass. Equal states are equal in
/// everything, so all times are those of a run from rest.
///
/// Messages that are changed need no rule of their own: all their tasks are changed too.
class DeltaRun {
 public:
  /// Borrows the body.
  explicit DeltaRun(const LoopBody& body, OnState on_state = {});

  /// Runs the body as it is now, after a change. Returns its period.
  LoopPeriod run(const LoopChange& change);
  /// Takes the last run back, for a body that is as before it. There must be one since then.
  void undo();

  const LoopPeriod& period() const { return now_.period; }
  /// The times of the tasks of the last pass, which is steady if the loop repeats itself.
  std::vector<TaskRun> last_pass() const;
  /// The tasks that the last `run` simulated, counted in every pass.
  std::int64_t tasks_run() const { return tasks_run_; }

 private:
  struct Kept {
    LoopState state;
    std::vector<TaskRun> ran;  // since the cut before; relative to the moment
  };
  /// Between two instants. What is kept of it is shared by the histories that contain it.
  struct Cut {
    LoopRun::Moment moment;
    std::uint64_t cursors = 0;  // hash of where the lanes stand
    bool ends_pass = false;     // the last lane has just ended it
    std::shared_ptr<const Kept> kept;
  };
  struct History {
    std::vector<Cut> cuts;
    LoopPeriod period;
    bool can_resume = true;  // everything that was to be done at the time of a cut has been
  };
  class Progress;
  class Cursors;
  class Rerun;

  const LoopBody& body_;
  const OnState on_state_;
  std::optional<LoopRun> run_;
  History now_;
  std::optional<History> former_;
  bool former_is_other_ = false;  // the former body was another one altogether
  std::int64_t tasks_run_ = 0;
};

}  // namespace troika
