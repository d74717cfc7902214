// Which collectives to time in turns, and what they took.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "collective/recipe.h"

namespace troika {

/// Beside algorithms: the bytes of an all-reduce combined and written by a plain loop on each
/// member, without any message; into the caches and past them. Only for members that share memory.
inline constexpr std::string_view kRoofline = "roofline", kStreamedRoofline = "roofline_streamed";

inline constexpr Bytes kTimedElement{4};  ///< Of every timed call: f32.

struct TimedCall {
  CollectiveCall call;
  std::string algorithm;  ///< Or "mpi", where the members are ranks, or a roofline.
};

/// What is timed in turns, so that other load meets it alike; usually the algorithms of one kind at
/// one size.
struct TimedGroup {
  std::vector<TimedCall> calls;
  /// Per call, nanoseconds per operation of each batch: the longest time that a member needed.
  std::vector<std::vector<double>> samples{};
};

struct TimingPasses {
  int least = 3, most = 7;
  int samples = 3;     ///< Of each call in each pass.
  double seconds = 8;  ///< No further pass begins after the least ones that would go beyond.
};

/// The middle one of each call's samples.
std::vector<double> medians(const TimedGroup& group);
/// How far each of these may be off: half the interval of samples in which the true middle lies in
/// 95 of 100 cases.
std::vector<double> noise_of_medians(const TimedGroup& group);

}  // namespace troika
