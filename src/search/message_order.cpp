#include "search/message_order.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "lower/message_urgency.h"
#include "lower/planner.h"
#include "sim/message_slack.h"

namespace troika {
namespace {

/// Messages of one name.
struct RankedMessage {
  std::string name;
  SimTime slack{};  // of the one that has the least
  std::uint64_t urgency = 0, by_turn = 0;
};

/// A plan as it was simulated.
struct SimulatedLoop {
  LoopBody body;  // of the graph; its tasks are numbered class by class
  LoopPeriod period;
};

std::vector<RankedMessage> rank_by_slack(const FoldedGraph& graph, const SimulatedLoop& loop,
                                         const std::map<FoldedCall, MessageUrgency>& messages) {
  std::vector<SimTime> slack = find_slack(loop.body, loop.period);
  std::map<std::string, RankedMessage> by_name;
  std::size_t number = 0;
  for (const std::vector<FoldedTask>& tasks : graph.tasks) {
    for (const FoldedTask& task : tasks) {
      const LoopTask& simulated = loop.body.tasks[number++];
      if (task.kind != TaskKind::finish) continue;
      const MessageUrgency& message = messages.at(task.call);
      SimTime own = slack[as_index(simulated.message)];
      auto [known, is_new] = by_name.try_emplace(
          message.name, RankedMessage{message.name, own, task.urgency, message.by_turn});
      RankedMessage& ranked = known->second;
      ranked.slack = std::min(ranked.slack, own);
      ranked.urgency = std::max(ranked.urgency, task.urgency);
      ranked.by_turn = std::max(ranked.by_turn, message.by_turn);
    }
  }
  std::vector<RankedMessage> ranked;
  for (auto& [name, message] : by_name) ranked.push_back(std::move(message));
  // Those of equal slack keep their order.
  std::ranges::sort(ranked, {}, [](const RankedMessage& message) {
    return std::tuple(message.slack, ~message.urgency, message.name);
  });
  return ranked;
}

/// The least list that gives this order: messages behind it go by their turns.
std::vector<std::string> listed(std::vector<RankedMessage> ranked) {
  std::uint64_t most_urgent = 0;  // by turn, of those behind
  while (!ranked.empty() && ranked.back().by_turn > most_urgent) {
    most_urgent = ranked.back().by_turn;
    ranked.pop_back();
  }
  std::vector<std::string> names;
  for (RankedMessage& message : ranked) names.push_back(std::move(message.name));
  return names;
}

class OrderSearch {
 public:
  OrderSearch(const LowerRequest& request, const KernelTable& table,
              const MessageOrderOptions& options)
      : request_(request), table_(table), options_(options) {}

  MessageOrderResult run() {
    const Sync& given = request_.strategy->sync;
    std::vector<Bytes> sizes{given.bucket};
    for (Bytes size : options_.buckets)
      if (size != given.bucket) sizes.push_back(size);
    for (Bytes size : sizes) {
      Sync sync = given;
      sync.bucket = size;
      if (follow(std::move(sync))) continue;
      // Another size that does not fit the plan is left out.
      if (size == given.bucket || std::holds_alternative<MissingRows>(*refusal_)) return refused();
    }
    if (!is_worth_it())
      return OrderedMessages{given, given, best_->before, best_->before, best_->simulated};
    if (best_->sync.message_order != given.message_order && !shorten()) return refused();
    return std::move(*best_);
  }

 private:
  bool is_worth_it() const {
    std::int64_t gain = (best_->before - best_->after).count;
    return gain > 0 && gain >= best_->before.count / options_.least_part;
  }

  MessageOrderResult refused() {
    return std::visit([](auto& reason) -> MessageOrderResult { return std::move(reason); },
                      *refusal_);
  }

  /// Of the plan with these choices. Nothing: refused.
  std::optional<SimTime> simulate(const Sync& sync) {
    Strategy strategy = *request_.strategy;
    strategy.sync = sync;
    LowerRequest request = request_;
    request.strategy = &strategy;
    planner_.emplace(request, table_);
    refusal_ = planner_->plan();
    if (refusal_) return std::nullopt;
    loop_.body = loop_body(planner_->graph());
    loop_.period = find_period(loop_.body);
    return note(sync, loop_.period.time);
  }

  /// Simulates a strategy and then, round by round, the orders that follow. False: refused.
  bool follow(Sync sync) {
    for (int round = 0;; ++round) {
      if (!simulate(sync)) return false;
      // Sizes that are greater than all gradients together give one plan.
      if (round == 0 && std::ranges::count(first_plans_, planner_->graph()) > 0) return true;
      if (round == 0) first_plans_.push_back(planner_->graph());
      if (round == options_.rounds || !sync.priorities) return true;
      std::vector<std::string> order =
          listed(rank_by_slack(planner_->graph(), loop_, message_urgencies(planner_->folding())));
      if (order == sync.message_order) return true;
      sync.message_order = std::move(order);
    }
  }

  /// Often the first few messages of the list are enough. False: refused.
  bool shorten() {
    const std::vector<std::string> whole = best_->sync.message_order;
    for (std::ptrdiff_t length = 1; length < std::ssize(whole); length *= 2) {
      Sync sync = best_->sync;
      sync.message_order.assign(whole.begin(), whole.begin() + length);
      std::optional<SimTime> period = simulate(sync);
      if (!period) return false;
      if (*period > best_->after) continue;
      best_->sync = std::move(sync);
      return true;
    }
    return true;
  }

  SimTime note(const Sync& sync, SimTime period) {
    if (!best_) best_ = OrderedMessages{sync, sync, period, period};
    ++best_->simulated;
    if (period < best_->after) {
      best_->sync = sync;
      best_->after = period;
    }
    return period;
  }

  const LowerRequest& request_;
  const KernelTable& table_;
  const MessageOrderOptions& options_;
  std::optional<Planner> planner_;        // of the last plan
  SimulatedLoop loop_;                    // the same
  std::vector<FoldedGraph> first_plans_;  // of each size, before its messages are ordered
  std::optional<PlanRefusal> refusal_;
  std::optional<OrderedMessages> best_;
};

}  // namespace

MessageOrderResult order_messages(const LowerRequest& request, const KernelTable& table,
                                  const MessageOrderOptions& options) {
  return OrderSearch(request, table, options).run();
}

}  // namespace troika
