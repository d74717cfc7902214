// The work on memory inside a collective cannot be timed by itself: it is what remains of the
// collective's time after the time of its messages is subtracted.
#include "profile/fit_links.h"

#include <algorithm>

namespace troika {
namespace {

using enum Collective;

/// The times of two members, or null.
const SizeCurve* find_times(const std::vector<MeasuredAlgorithm>& rows, Collective kind,
                            std::string_view algorithm) {
  auto found = std::ranges::find_if(rows, [&](const MeasuredAlgorithm& row) {
    return row.kind == kind && row.algorithm == algorithm && row.members == 2 && !row.times.empty();
  });
  return found == rows.end() ? nullptr : &found->times;
}

/// Subtracts other(bytes) from each time, at the size divided by `parts`, which is the processed
/// part of the vector. Empty if there are no times.
template <class Other>
SizeCurve without(const SizeCurve* times, std::int64_t parts, Other other) {
  if (times == nullptr) return {};
  std::vector<SizePoint> points;
  for (const SizePoint& point : times->points) {
    Bytes bytes{point.bytes.count / parts};
    points.push_back({bytes, point.nanoseconds - other(bytes)});
  }
  return rising(std::move(points));
}

/// Two members that exchange halves of a vector send one message each way, as the cost model
/// assumes.
SizeCurve message_times(const std::vector<MeasuredAlgorithm>& rows) {
  const SizeCurve* exchange = find_times(rows, all_gather, "recursive_doubling");
  if (exchange == nullptr) return {};
  std::vector<SizePoint> points;
  if (const SizeCurve* empty = find_times(rows, barrier, "dissemination"))
    points.push_back({{}, empty->points.front().nanoseconds});
  for (const SizePoint& point : exchange->points)
    points.push_back({{point.bytes.count / 2}, point.nanoseconds});
  return rising(std::move(points));
}

void fit_link(LinkCost& link, const std::vector<MeasuredAlgorithm>& rows) {
  SizeCurve messages = message_times(rows);
  if (messages.empty()) return;
  link.message_times = messages;
  auto message = [&](Bytes bytes) { return messages.at(bytes); };
  // A pairwise reduce_scatter of two members is a message of half the vector that is combined.
  link.combine_times = without(find_times(rows, reduce_scatter, "pairwise"), 2, message);
  Line line = fit_line(messages);
  link.alpha = line.alpha;
  link.beta = line.beta;
  link.gamma = fit_rate(link.combine_times);
}

void fit_memory(MemoryCost& memory, const SizeCurve& messages,
                const std::vector<MeasuredAlgorithm>& rows) {
  auto take = [](SizeCurve times, SizeCurve& kept, double& rate) {
    if (times.empty()) return;
    kept = std::move(times);
    rate = fit_rate(kept);
  };
  auto message = [&](Bytes bytes) { return messages.at(bytes); };
  // With two members bruck is a message of n/2 and a copy of n, recursive_doubling a message of n
  // that is combined from scratch, direct two empty messages and n combined in place.
  take(without(find_times(rows, all_gather, "bruck"), 1,
               [&](Bytes bytes) { return messages.at({bytes.count / 2}); }),
       memory.copy_times, memory.copy);
  take(without(find_times(rows, all_reduce, "recursive_doubling"), 1, message), memory.reduce_times,
       memory.reduce);
  take(without(find_times(rows, all_reduce, "direct"), 1,
               [&](Bytes) { return 2 * messages.at({}); }),
       memory.reduce_both_times, memory.reduce_both);
}

}  // namespace

void take_measured(LinkCosts& costs, const std::vector<MeasuredAlgorithm>& rows) {
  if (rows.empty()) return;
  std::erase_if(costs.measured, [&](const MeasuredAlgorithm& old) {
    return std::ranges::any_of(rows, [&](const MeasuredAlgorithm& row) {
      return row.members == old.members && row.link == old.link;
    });
  });
  costs.measured.insert(costs.measured.end(), rows.begin(), rows.end());
  LinkKind link = rows.front().link;
  fit_link(costs[link], rows);
  if (link == LinkKind::process && !costs.process.message_times.empty())
    fit_memory(costs.memory, costs.process.message_times, rows);
}

Line fit_line(const SizeCurve& curve) {
  // Least squares of (alpha + n beta - t) / t.
  double ones = 0, sizes = 0, squares = 0, times = 0, products = 0;
  for (const SizePoint& point : curve.points) {
    double time = std::max(point.nanoseconds, 1.0), weight = 1 / (time * time);
    auto size = static_cast<double>(point.bytes.count);
    ones += weight, sizes += weight * size, squares += weight * size * size;
    times += weight * time, products += weight * size * time;
  }
  double determinant = ones * squares - sizes * sizes;
  // All points have one size: there is no slope to fit.
  if (determinant <= 0) return {.alpha = ones > 0 ? times / ones : 0};
  Line line{.alpha = (times * squares - sizes * products) / determinant,
            .beta = (ones * products - sizes * times) / determinant};
  // The best line with one coefficient fixed at zero.
  if (line.alpha < 0) return {.beta = products / squares};
  if (line.beta < 0) return {.alpha = times / ones};
  return line;
}

double fit_rate(const SizeCurve& curve) {
  // Shorter ones are dominated by the noise of the times that were subtracted.
  constexpr Bytes kTelling{4 << 10};
  std::vector<double> rates;
  for (const SizePoint& point : curve.points) {
    if (point.bytes >= kTelling)
      rates.push_back(point.nanoseconds / static_cast<double>(point.bytes.count));
  }
  if (rates.empty()) return 0;
  auto middle = rates.begin() + std::ssize(rates) / 2;
  std::ranges::nth_element(rates, middle);
  return *middle;
}

}  // namespace troika
