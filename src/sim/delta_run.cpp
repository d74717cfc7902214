#include "sim/delta_run.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace troika {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
/// A cut costs about as much as running a task per lane, so there is one every few of them.
constexpr std::int64_t kTasksPerCut = 64, kTasksPerCutAndLane = 1;

/// Relative to a time.
std::vector<TaskRun> relative_to(SimTime time, std::vector<TaskRun> ran) {
  for (TaskRun& each : ran) {
    if (each.start != TaskRun::kOpen) each.start = each.start - time;
    if (each.end != TaskRun::kOpen) each.end = each.end - time;
  }
  return ran;
}

}  // namespace

/// Where lanes stand, as numbers that grow: former passes times the length of a pass, and the place
/// in it.
class DeltaRun::Progress {
 public:
  explicit Progress(const LoopChange& change) : change_(change) {}

  /// Up to which no lane has come to a changed task: a run from rest,
  std::vector<std::int64_t> first_limits() const {
    std::vector<std::int64_t> limits;
    for (const std::vector<std::int32_t>& borders : change_.borders)
      limits.push_back(borders.empty() ? kUnlimited : borders.front());
    return limits;
  }
  /// and one that has met a state of the former run.
  std::vector<std::int64_t> limits_from(const LoopState& state, std::int64_t passes) const {
    std::vector<std::int64_t> limits;
    for (std::size_t lane = 0; lane < state.lanes.size(); ++lane) {
      const std::vector<std::int32_t>& borders = change_.borders[lane];
      std::int64_t begin = begin_of_pass(state.lanes[lane], lane, passes);
      auto next = std::ranges::upper_bound(borders, place_of(state.lanes[lane], lane));
      if (borders.empty())
        limits.push_back(kUnlimited);
      else if (next != borders.end())
        limits.push_back(begin + *next);
      else
        limits.push_back(begin + change_.lengths[lane] + borders.front());
    }
    return limits;
  }
  /// A lane that stands at a changed task, or where new tasks come in, is beyond it.
  bool is_within(const std::vector<std::int64_t>& limits, const LoopState& state,
                 std::int64_t passes) const {
    for (std::size_t lane = 0; lane < state.lanes.size(); ++lane)
      if (limits[lane] != kUnlimited &&
          begin_of_pass(state.lanes[lane], lane, passes) + place_of(state.lanes[lane], lane) >=
              limits[lane])
        return false;
    return true;
  }

 private:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  std::int64_t begin_of_pass(const LoopState::Lane& lane, std::size_t number,
                             std::int64_t passes) const {
    return (passes + lane.pass) * change_.lengths[number];
  }
  std::int32_t place_of(const LoopState::Lane& lane, std::size_t number) const {
    return lane.next < 0 ? change_.lengths[number] : change_.places[as_index(lane.next)];
  }

  const LoopChange& change_;
};

/// Finds cuts by their cursors: open addressing, at most half full.
class DeltaRun::Cursors {
 public:
  explicit Cursors(const std::vector<Cut>& cuts)
      : cuts_(cuts), at_(std::bit_ceil(2 * cuts.size() + 1), kNone) {
    for (std::size_t cut = 0; cut < cuts.size(); ++cut) {
      std::size_t slot = first_slot(cuts[cut].cursors);
      while (at_[slot] != kNone) slot = next_slot(slot);
      at_[slot] = cut;
    }
  }
  /// The first one from a place on.
  std::size_t find(std::uint64_t cursors, std::size_t from) const {
    for (std::size_t slot = first_slot(cursors); at_[slot] != kNone; slot = next_slot(slot))
      if (at_[slot] >= from && cuts_[at_[slot]].cursors == cursors) return at_[slot];
    return kNone;
  }

 private:
  std::size_t first_slot(std::uint64_t cursors) const { return cursors & (at_.size() - 1); }
  std::size_t next_slot(std::size_t slot) const { return (slot + 1) & (at_.size() - 1); }

  const std::vector<Cut>& cuts_;
  std::vector<std::size_t> at_;
};

class DeltaRun::Rerun {
 public:
  Rerun(DeltaRun& delta, const LoopChange& change)
      : run_(*delta.run_),
        on_state_(delta.on_state_),
        // Nothing can be taken over from a run of another body.
        former_(change.is_fresh || !delta.former_ || !delta.former_->can_resume ? kNothing
                                                                                : *delta.former_),
        now_(delta.now_),
        progress_(change),
        cursors_(former_.cuts),
        finder_(delta.body_),
        tasks_per_cut_(kTasksPerCut + kTasksPerCutAndLane * std::ssize(delta.body_.lanes)) {}

  void run() {
    begin();
    for (std::int64_t since = run_.tasks_run(); !is_over_;) {
      std::int64_t passes = run_.passes();
      TROIKA_CHECK(run_.run_instant(), "a loop whose lanes wait for each other");
      bool ends_pass = run_.passes() > passes;
      std::size_t met = run_.is_settled() ? cursors_.find(run_.cursors(), next_) : kNone;
      if (met == kNone && !ends_pass && run_.tasks_run() - since < tasks_per_cut_) continue;
      LoopState state = take_state();
      bool has_met = met != kNone && former_.cuts[met].moment.passes == run_.passes() &&
                     former_.cuts[met].kept->state == state;
      if (!has_met && !ends_pass && run_.tasks_run() - since < tasks_per_cut_) continue;
      add_cut(std::move(state), ends_pass);
      if (has_met && !is_over_) follow(met);
      since = run_.tasks_run();
    }
  }

 private:
  static const History kNothing;

  void begin() {
    std::size_t end = end_within(progress_.first_limits(), 0);
    if (end == 0) return run_.restart();
    take_over(0, end, {});
  }

  /// The first cut behind `begin` that is not within the limits.
  std::size_t end_within(const std::vector<std::int64_t>& limits, std::size_t begin) const {
    auto is_within = [&](const Cut& cut) {
      return progress_.is_within(limits, cut.kept->state, cut.moment.passes);
    };
    return as_index(std::partition_point(former_.cuts.begin() + static_cast<std::ptrdiff_t>(begin),
                                         former_.cuts.end(), is_within) -
                    former_.cuts.begin());
  }

  /// From a cut of the former run in whose state this one is.
  void follow(std::size_t met) {
    next_ = met + 1;
    const Cut& same = former_.cuts[met];
    std::size_t end =
        end_within(progress_.limits_from(same.kept->state, same.moment.passes), next_);
    if (end > next_) take_over(next_, end, run_.now() - same.moment.time);
  }

  void take_over(std::size_t begin, std::size_t end, SimTime shift) {
    for (std::size_t at = begin; at < end && !is_over_; ++at) {
      now_.cuts.push_back(former_.cuts[at]);
      now_.cuts.back().moment.time += shift;
      note_end();
    }
    next_ = end;
    if (!is_over_) run_.resume(now_.cuts.back().kept->state, now_.cuts.back().moment);
  }

  LoopState take_state() const {
    LoopState state = run_.state();
    if (on_state_) on_state_(state);
    return state;
  }

  void add_cut(LoopState state, bool ends_pass) {
    now_.can_resume = now_.can_resume && run_.is_settled();
    auto kept = std::make_shared<const Kept>(
        Kept{std::move(state), relative_to(run_.now(), run_.take_recorded())});
    now_.cuts.push_back({{run_.now(), run_.passes()}, run_.cursors(), ends_pass, std::move(kept)});
    note_end();
  }

  /// If the last cut ends a pass.
  void note_end() {
    const Cut& cut = now_.cuts.back();
    if (!cut.ends_pass) return;
    std::optional<LoopPeriod> period =
        finder_.add({cut.moment.passes, cut.moment.time, {cut.kept, &cut.kept->state}});
    if (!period) return;
    now_.period = *period;
    is_over_ = true;
  }

  LoopRun& run_;
  const OnState& on_state_;
  const History& former_;
  History& now_;
  const Progress progress_;
  const Cursors cursors_;
  PeriodFinder finder_;
  const std::int64_t tasks_per_cut_;
  std::size_t next_ = 0;  // of the former cuts: those before it are behind
  bool is_over_ = false;
};

const DeltaRun::History DeltaRun::Rerun::kNothing{};

DeltaRun::DeltaRun(const LoopBody& body, OnState on_state)
    : body_(body), on_state_(std::move(on_state)) {}

LoopPeriod DeltaRun::run(const LoopChange& change) {
  former_ = std::exchange(now_, {});
  former_is_other_ = change.is_fresh;
  if (change.is_fresh) run_.reset();
  if (!run_) run_.emplace(body_);
  run_->record(0, std::numeric_limits<std::int64_t>::max());
  std::int64_t before = run_->tasks_run();
  Rerun(*this, change).run();
  tasks_run_ = run_->tasks_run() - before;
  return now_.period;
}

void DeltaRun::undo() {
  TROIKA_CHECK(former_.has_value(), "no run to take back");
  now_ = std::move(*std::exchange(former_, std::nullopt));
  if (former_is_other_) run_.reset();
}

std::vector<TaskRun> DeltaRun::last_pass() const {
  std::vector<TaskRun> times;
  for (const Cut& cut : now_.cuts) {
    for (TaskRun each : cut.kept->ran) {
      if (each.pass != now_.period.passes - 1) continue;
      if (each.start != TaskRun::kOpen) each.start += cut.moment.time;
      if (each.end != TaskRun::kOpen) each.end += cut.moment.time;
      times.push_back(each);
    }
  }
  return times;
}

}  // namespace troika
