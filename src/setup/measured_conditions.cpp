#include "setup/measured_conditions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "taskgraph/time_use.h"

namespace troika {
namespace {

/// A message that a device waited for during less than this part of its time may have ended
/// earlier, or the device may have delayed it by computing instead of moving it.
constexpr double kWaitedPart = 0.5;

struct ComparedTime {
  double predicted = 0, measured = 0;

  double ratio() const { return predicted > 0 ? measured / predicted : 1; }
};

using TimesByKind = std::map<std::string, ComparedTime>;

/// The lower one of two in the middle: of two devices the faster one is typical.
double median_of(std::vector<double> values) {
  if (values.empty()) return 1;
  auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

const PassRow* row_of(const LoopPass& pass, DeviceId device) {
  auto found = std::ranges::find(pass.rows, device, &PassRow::device);
  return found == pass.rows.end() ? nullptr : &*found;
}

/// Kernels that were both predicted and measured on the device.
TimesByKind kernels_of(const ComparedPasses& passes, const PassRow& predicted) {
  TimesByKind kinds;
  const PassRow* measured = row_of(passes.measured, predicted.device);
  if (measured == nullptr) return kinds;
  std::unordered_map<std::size_t, SimTime> took;  // by task
  for (const RanTask& ran : measured->tasks) took[ran.task] = ran.time();
  for (const RanTask& ran : predicted.tasks) {
    const Task& task = passes.graph.tasks[ran.task];
    auto found = took.find(ran.task);
    if (!task.computes() || found == took.end()) continue;
    ComparedTime& kind = kinds[kind_of(passes.graph, task)];
    kind.predicted += static_cast<double>(ran.time().count);
    kind.measured += static_cast<double>(found->second.count);
  }
  return kinds;
}

ComparedTime sum_of(const TimesByKind& kinds) {
  ComparedTime sum;
  for (const auto& [name, time] : kinds) {
    sum.predicted += time.predicted;
    sum.measured += time.measured;
  }
  return sum;
}

/// By kind of kernel: its ratio on the typical device, where several devices have run it.
std::map<std::string, double> typical_ratios(const std::map<DeviceId, TimesByKind>& devices) {
  std::map<std::string, std::vector<double>> ratios;
  for (const auto& [device, kinds] : devices)
    for (const auto& [name, time] : kinds)
      if (time.predicted > 0) ratios[name].push_back(time.ratio());
  std::map<std::string, double> typical;
  for (const auto& [name, values] : ratios)
    if (values.size() > 1) typical[name] = median_of(values);
  return typical;
}

bool is_noise(double factor) { return std::abs(factor - 1) < kConditionNoise; }

/// How many times as long as on a typical device the kernels of each device took.
std::map<DeviceId, double> compare_devices(const std::map<DeviceId, TimesByKind>& devices) {
  std::vector<double> wholes;
  for (const auto& [device, kinds] : devices) wholes.push_back(sum_of(kinds).ratio());
  double general = median_of(wholes);
  std::map<std::string, double> typical = typical_ratios(devices);
  std::map<DeviceId, double> factors;
  std::vector<double> all;
  for (const auto& [device, kinds] : devices) {
    ComparedTime sum;
    for (const auto& [name, time] : kinds) {
      auto known = typical.find(name);
      sum.predicted += time.predicted * (known == typical.end() ? general : known->second);
      sum.measured += time.measured;
    }
    all.push_back(factors[device] = sum.ratio());
  }
  double middle = median_of(all);
  for (auto& [device, factor] : factors) {
    factor /= middle;
    if (is_noise(factor)) factor = 1;
  }
  return factors;
}

/// The end of the row's last message, on the clock of the next pass.
SimTime end_of_messages(const TaskGraph& graph, const LoopPass& pass, const PassRow& row) {
  SimTime end;
  for (const RanTask& ran : row.tasks)
    if (graph.tasks[ran.task].kind == TaskKind::finish) end = std::max(end, ran.end);
  return end - pass.period;
}

/// By task that finishes a message: from the last start of a member to its end, where the device
/// mostly waited for it. Messages share links, so one counts only from the end of the one before.
std::map<std::size_t, SimTime> message_times(const TaskGraph& graph, const LoopPass& pass) {
  std::map<std::size_t, SimTime> times;
  std::vector<std::optional<RanTask>> starts = last_starts(graph, pass);
  for (const PassRow& row : pass.rows) {
    SimTime before = end_of_messages(graph, pass, row);
    for (const RanTask& ran : row.tasks) {
      if (graph.tasks[ran.task].kind != TaskKind::finish) continue;
      std::optional<SimTime> begin = began(graph, pass, ran, starts);
      SimTime from = std::max(begin.value_or(ran.end), std::exchange(before, ran.end));
      SimTime whole = ran.end - from, waited = ran.end - std::max(ran.start, from);
      bool is_known =
          static_cast<double>(waited.count) >= kWaitedPart * static_cast<double>(whole.count);
      if (is_known && waited > SimTime{}) times[ran.task] = whole;
    }
  }
  return times;
}

void compare_messages(const ComparedPasses& passes, MeasuredConditions& conditions) {
  std::unordered_set<std::int32_t> shown;
  for (const PassRow& row : passes.measured.rows) shown.insert(row.device.value);
  std::map<std::size_t, SimTime> expected = message_times(passes.graph, passes.predicted);
  std::map<LinkKind, ComparedTime> links;
  for (const auto& [task, time] : message_times(passes.graph, passes.measured)) {
    const Communication& message = passes.graph[passes.graph.tasks[task].communication];
    auto is_shown = [&](DeviceId device) { return shown.contains(device.value); };
    auto found = expected.find(task);
    if (found == expected.end() || !std::ranges::all_of(message.devices, is_shown)) continue;
    ComparedTime& link = links[slowest_link(message.call)];
    link.predicted += static_cast<double>(found->second.count);
    link.measured += static_cast<double>(time.count);
  }
  for (const auto& [kind, time] : links)
    if (!is_noise(time.ratio())) conditions.of(kind) = std::max(1.0, time.ratio());
}

void slow_down(SizeCurve& curve, double factor) {
  for (SizePoint& point : curve.points) point.nanoseconds *= factor;
}

void slow_down(LinkCost& link, double factor) {
  for (double* figure : {&link.alpha, &link.beta, &link.gamma}) *figure *= factor;
  if (link.overhead) *link.overhead *= factor;
  slow_down(link.message_times, factor);
  slow_down(link.combine_times, factor);
}

void slow_down(MemoryCost& memory, double factor) {
  for (double* figure : {&memory.copy, &memory.reduce, &memory.reduce_both}) *figure *= factor;
  for (SizeCurve* curve : {&memory.copy_times, &memory.reduce_times, &memory.reduce_both_times})
    slow_down(*curve, factor);
}

}  // namespace

MeasuredConditions find_conditions(const ComparedPasses& passes, std::size_t devices) {
  MeasuredConditions made{.devices = std::vector<double>(devices, 1)};
  std::map<DeviceId, TimesByKind> kernels;
  for (const PassRow& row : passes.predicted.rows) {
    TimesByKind kinds = kernels_of(passes, row);
    if (!kinds.empty()) kernels[row.device] = std::move(kinds);
  }
  ComparedTime all;
  for (const auto& [device, factor] : compare_devices(kernels)) {
    made.devices.at(device.index()) = factor;
    ComparedTime sum = sum_of(kernels[device]);
    all.predicted += sum.predicted * factor;
    all.measured += sum.measured;
  }
  made.kernels = all.ratio();
  compare_messages(passes, made);
  return made;
}

Machine with_conditions(Machine machine, const MeasuredConditions& conditions) {
  for (std::size_t at = 0; at < machine.devices.size(); ++at)
    machine.devices[at].slowdown *= conditions.kernels * conditions.devices.at(at);
  return machine;
}

LinkCosts with_conditions(LinkCosts links, const MeasuredConditions& conditions) {
  for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network})
    slow_down(links[kind], conditions.of(kind));
  // Messages inside a process are copies and sums in memory.
  slow_down(links.memory, conditions.process);
  for (MeasuredAlgorithm& row : links.measured) slow_down(row.times, conditions.of(row.link));
  return links;
}

}  // namespace troika
