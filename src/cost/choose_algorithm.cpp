#include "cost/choose_algorithm.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "collective/algorithms.h"
#include "collective/by_mpi.h"
#include "cost/predict_time.h"

namespace troika {
namespace {

/// Segments overlap the combining of a ring with its messages; more than a few only add messages.
std::vector<std::int64_t> segments_to_try(const CollectiveCall& call, std::string_view algorithm) {
  std::vector<std::int64_t> segments{call.segment};
  if (algorithm != "ring" || call.kind != Collective::all_reduce || call.segment != 0)
    return segments;
  // A slice is what one ring message carries; segments divide it.
  std::int64_t slice = (call.count + call.members - 1) / call.members;
  for (std::int64_t parts : {2, 4}) {
    if (slice >= parts) segments.push_back((slice + parts - 1) / parts);
  }
  return segments;
}

/// The algorithm with its best segment, or why it declines.
Alternative weigh(const CollectiveCall& call, const Algorithm& algorithm, Bytes element,
                  const LinkCosts& costs) {
  Alternative best{.algorithm = std::string(algorithm.name)};
  if (auto reason = algorithm.why_not(call)) {
    best.declined = *reason;
    return best;
  }
  CollectiveCall trial = call;
  for (std::int64_t segment : segments_to_try(call, algorithm.name)) {
    trial.segment = segment;
    PredictedTime predicted = predict_time(trial, algorithm.name, element, costs);
    if (best.time && *best.time <= predicted.time) continue;
    best.time = predicted.time;
    best.is_measured = predicted.is_measured;
    best.segment = segment;
    if (predicted.is_measured)
      break;  // the formula of other segments is less exact than a measurement
  }
  // direct_streamed has the formula of direct, so only a measurement can tell which is faster.
  best.only_if_asked = algorithm.needs_measuring && !best.is_measured;
  return best;
}

/// MPI does not say how it works, so there is no formula to fall back on.
Alternative weigh_mpi(const CollectiveCall& call, Bytes element, const LinkCosts& costs) {
  Alternative mpi{.algorithm = std::string(kByMpi)};
  if (auto reason = why_not_by_mpi(call, element)) {
    mpi.declined = *reason;
  } else if (auto time = measured_time(call, mpi.algorithm, element, costs)) {
    mpi.time = time;
    mpi.is_measured = true;
  } else {
    mpi.declined = "its time was not measured for this call";
  }
  return mpi;
}

std::string reasons(const std::vector<Alternative>& alternatives) {
  std::string text;
  for (const Alternative& alternative : alternatives)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", alternative.algorithm,
                        alternative.declined);
  return text;
}

/// The alternative to use: the one asked for, else the first. Throws if it cannot be used.
const Alternative& pick(const std::vector<Alternative>& alternatives, const AlgorithmRange* asked,
                        const std::string& what) {
  // Without a range the first one is the fastest, or all have declined.
  if (!asked) {
    if (!alternatives.front().time)
      throw Error(ErrorKind::usage,
                  fmt::format("no algorithm can do {} ({})", what, reasons(alternatives)));
    return alternatives.front();
  }
  auto position = std::ranges::find(alternatives, asked->algorithm, &Alternative::algorithm);
  if (position == alternatives.end())
    throw Error(ErrorKind::usage,
                fmt::format("the algorithm ranges ask for '{}' for {}, which has no such algorithm "
                            "here; change the ranges",
                            asked->algorithm, what));
  const Alternative& found = *position;
  if (!found.time)
    throw Error(ErrorKind::usage,
                fmt::format("the algorithm ranges ask for '{}' for {}, but {}; change the ranges",
                            found.algorithm, what, found.declined));
  return found;
}

}  // namespace

AlgorithmChoice choose_algorithm(const CollectiveCall& call, Bytes element, const LinkCosts& costs,
                                 const AlgorithmRanges& ranges, const ChoiceOptions& options) {
  AlgorithmChoice choice;
  for (const Algorithm& algorithm : algorithms(call.kind))
    choice.alternatives.push_back(weigh(call, algorithm, element, costs));
  if (options.offers_mpi) choice.alternatives.push_back(weigh_mpi(call, element, costs));
  // The fastest first; then those that are used only on request, then those that declined. Stable,
  // so that the list of algorithms decides between equal times, alike on all ranks.
  std::ranges::stable_sort(choice.alternatives, [](const Alternative& a, const Alternative& b) {
    auto rank = [](const Alternative& one) { return !one.time ? 2 : one.only_if_asked ? 1 : 0; };
    return rank(a) != rank(b) ? rank(a) < rank(b) : rank(a) < 2 && *a.time < *b.time;
  });
  Bytes bytes = element * call.count;
  const AlgorithmRange* asked = find_range(ranges, bytes);
  const Alternative& picked = pick(choice.alternatives, asked,
                                   fmt::format("{} of {} among {} members", to_string(call.kind),
                                               to_string(bytes), call.members));
  choice.algorithm = picked.algorithm;
  choice.segment = picked.segment;
  choice.time = *picked.time;
  choice.asked_for = asked != nullptr;
  return choice;
}

std::string explain(const AlgorithmChoice& choice) {
  std::string text;
  for (const Alternative& alternative : choice.alternatives) {
    bool chosen = alternative.algorithm == choice.algorithm;
    std::string verdict = alternative.time ? to_string(*alternative.time) : alternative.declined;
    text += fmt::format("{} {:<20} {}{}{}\n", chosen ? "*" : " ", alternative.algorithm, verdict,
                        alternative.is_measured ? ", as measured here" : "",
                        chosen && choice.asked_for ? " (asked for)" : "");
  }
  return text;
}

}  // namespace troika
