// For tests: loops written down by hand, and random ones with every kind of resource.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "sim/loop_period.h"
#include "sim/loop_run.h"

namespace troika {

/// Writes a loop body down task by task, in the order of a pass.
class HandMadeLoop {
 public:
  HandMadeLoop(std::size_t lanes, std::size_t links, SimTime chunk = {10}) {
    body_.lanes.resize(lanes);
    body_.links.assign(links, {.chunk = chunk});
    body_.costs.work_chunk = chunk;
  }

  HandMadeLoop& compute(std::int32_t lane, std::int64_t time) {
    return add({.lane = lane, .time = {time}, .kind = TaskKind::compute});
  }
  HandMadeLoop& start(std::int32_t lane, std::int32_t message) {
    at(message);
    return add({.lane = lane, .message = message, .kind = TaskKind::start});
  }
  HandMadeLoop& finish(std::int32_t lane, std::int32_t message, std::int32_t lag = 0) {
    at(message);
    return add({.lane = lane, .message = message, .lag = lag, .kind = TaskKind::finish});
  }
  /// A phase of a message, behind those it has. Phases of a message must be given in one go.
  HandMadeLoop& phase(std::int32_t message, std::vector<LinkLoad> loads, MessagePhase rest = {}) {
    LoopMessage& own = at(message);
    if (own.phases++ == 0) own.first_phase = static_cast<std::int32_t>(body_.phases.size());
    rest.first_load = static_cast<std::int32_t>(body_.loads.size());
    rest.loads = static_cast<std::int32_t>(loads.size());
    body_.loads.insert(body_.loads.end(), loads.begin(), loads.end());
    body_.phases.push_back(rest);
    return *this;
  }
  HandMadeLoop& urgency(std::int32_t message, std::uint64_t urgency) {
    at(message).urgency = urgency;
    return *this;
  }
  HandMadeLoop& order(std::int32_t message, std::uint64_t order) {
    at(message).order = order;
    return *this;
  }
  /// Lanes that run their passes together.
  HandMadeLoop& process(std::vector<std::int32_t> lanes, std::int64_t rest) {
    for (std::int32_t lane : lanes)
      body_.lanes[as_index(lane)].process = static_cast<std::int32_t>(body_.processes.size());
    body_.processes.push_back({std::move(lanes), {rest}});
    return *this;
  }
  HandMadeLoop& between_kernels(std::int64_t time) {
    body_.costs.between_kernels = {time};
    return *this;
  }

  /// Threads on cores of their own move the messages.
  HandMadeLoop& moves_beside(bool is_so = true) {
    body_.costs.moves_beside = is_so;
    return *this;
  }

  const LoopBody& get() const { return body_; }
  std::int64_t period() const { return find_period(body_).time.count; }
  /// When each task ends in a step from rest.
  std::vector<std::int64_t> ends() const {
    LoopRun run(body_, 1);
    run.record(0, largest_lag(body_));
    while (run.run_pass()) continue;
    std::vector<std::int64_t> all(body_.tasks.size(), -1);
    for (const TaskRun& times : run.take_recorded())
      if (times.end != TaskRun::kOpen) all[as_index(times.task)] = times.end.count;
    return all;
  }
  std::int64_t end() const { return std::ranges::max(ends()); }

 private:
  LoopMessage& at(std::int32_t message) {
    if (std::ssize(body_.messages) <= message) body_.messages.resize(as_index(message) + 1);
    return body_.messages[as_index(message)];
  }
  HandMadeLoop& add(LoopTask task) {
    place_last(body_, add_task(body_, task));
    return *this;
  }

  LoopBody body_;
};

/// Random loops of `pairs` pairs of lanes that all do the same: each pair has its own link and all
/// share one. Folded, one pair stands for all.
struct SymmetricLoop {
  SymmetricLoop(std::uint64_t seed, std::int32_t pairs, bool folded) : body(1, 1) {
    RandomStream draws{.key = 11, .stream = seed};
    std::uint64_t drawn = 0;
    auto draw = [&](std::uint64_t below) {
      return static_cast<std::int64_t>(draws.below(drawn++, below));
    };
    std::int32_t shown = folded ? 1 : pairs;
    auto shared_link = shown;
    body = HandMadeLoop(as_index(2 * shown), as_index(shown + 1));
    body.between_kernels(25).moves_beside(seed % 3 == 0);
    auto messages = static_cast<std::int32_t>(2 + draw(4));
    for (std::int32_t message = 0; message < messages; ++message) {
      SimTime own{1 + draw(60)}, shared{draw(40)}, work{draw(2) * draw(50)}, latency{draw(9)};
      auto urgency = static_cast<std::uint64_t>(draw(3));
      for (std::int32_t pair = 0; pair < shown; ++pair) {
        std::int32_t number = message * shown + pair;
        // All pairs cross the shared link: folded, their requests are one.
        SimTime crossing = shared * (folded ? pairs : 1);
        body.phase(
            number, {{pair, own}, {shared_link, crossing}},
            {.work = work, .latency = latency, .repeats = static_cast<int>(1 + message % 2)});
        if (message % 3 == 1) body.phase(number, {{pair, shared + own}}, {.latency = own});
        body.urgency(number, urgency).order(number, static_cast<std::uint64_t>(message));
      }
    }
    add_tasks(draw, shown, messages);
    std::int64_t rest = draw(2) * draw(40);
    for (std::int32_t pair = 0; pair < shown && rest > 0; ++pair)
      body.process({2 * pair, 2 * pair + 1}, rest);
  }

  template <class Draw>
  void add_tasks(const Draw& draw, std::int32_t shown, std::int32_t messages) {
    std::vector<std::int64_t> times;
    for (std::int32_t at = 0; at < 8 * messages; ++at) times.push_back(draw(70));
    for (std::int32_t lane = 0; lane < 2 * shown; ++lane) {
      auto time = times.begin() + (lane % 2) * 4 * messages;
      for (std::int32_t message = 0; message < messages; ++message)
        body.compute(lane, *time++).start(lane, message * shown + lane / 2).compute(lane, *time++);
      for (std::int32_t message = messages - 1; message >= 0; --message)
        body.finish(lane, message * shown + lane / 2).compute(lane, *time++);
    }
  }

  HandMadeLoop body;
};

}  // namespace troika
