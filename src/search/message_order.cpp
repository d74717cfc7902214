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

std::vector<RankedMessage> rank_by_slack(const FoldedGraph& graph,
                                         const std::map<FoldedCall, MessageUrgency>& messages) {
  // Tasks of the body are numbered class by class.
  LoopBody body = loop_body(graph);
  std::vector<SimTime> slack = find_slack(body).of_message;
  std::map<std::string, RankedMessage> by_name;
  std::size_t number = 0;
  for (const std::vector<FoldedTask>& tasks : graph.tasks) {
    for (const FoldedTask& task : tasks) {
      const LoopTask& simulated = body.tasks[number++];
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
      if (!follow(std::move(sync)))
        return std::visit([](auto& reason) -> MessageOrderResult { return std::move(reason); },
                          *refusal_);
    }
    return std::move(*best_);
  }

 private:
  /// Simulates a strategy and then, round by round, the orders that follow. False: refused.
  bool follow(Sync sync) {
    for (int round = 0;; ++round) {
      Strategy strategy = *request_.strategy;
      strategy.sync = sync;
      LowerRequest request = request_;
      request.strategy = &strategy;
      Planner planner(request, table_);
      refusal_ = planner.plan();
      if (refusal_) return false;
      note(sync, find_period(loop_body(planner.graph())).time);
      if (round == options_.rounds || !sync.priorities) return true;
      std::vector<std::string> order =
          listed(rank_by_slack(planner.graph(), message_urgencies(planner.folding())));
      if (order == sync.message_order) return true;
      sync.message_order = std::move(order);
    }
  }

  void note(const Sync& sync, SimTime period) {
    if (!best_) best_ = OrderedMessages{sync, sync, period, period};
    ++best_->simulated;
    if (period >= best_->after) return;
    best_->sync = sync;
    best_->after = period;
  }

  const LowerRequest& request_;
  const KernelTable& table_;
  const MessageOrderOptions& options_;
  std::optional<PlanRefusal> refusal_;
  std::optional<OrderedMessages> best_;
};

}  // namespace

MessageOrderResult order_messages(const LowerRequest& request, const KernelTable& table,
                                  const MessageOrderOptions& options) {
  return OrderSearch(request, table, options).run();
}

}  // namespace troika
