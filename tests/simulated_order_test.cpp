// A run follows the simulated order. These promises are checked against a recorded run:
// - every device runs the tasks of a pass, carried ones included, in the order of the simulation;
// - a device offers the first message of each communication to each other device in the order in
//   which the simulation starts the communications, if that message does not wait for another one.
// Not promised, because it depends on the clock: when a message that waits for another one is
// offered, and in which order messages arrive. A more urgent message overtakes others at the next
// chunk (comm/urgency_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "runtime/prepared_messages.h"
#include "setup/live_model.h"
#include "setup/optimizer_rules.h"
#include "sim/simulate.h"
#include "small_training.h"
#include "strategy/ready.h"

namespace troika {
namespace {

/// A message that was offered.
struct Offer {
  Channel channel;
  std::uint32_t tag;
};

/// Forwards all messages and records when they are offered.
class RecordingTransport final : public Transport {
 public:
  explicit RecordingTransport(Transport& inner) : inner_(inner) {}

  std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                         std::span<const std::byte> bytes) override {
    return recorded(address, false, inner_.prepare_send(address, bytes));
  }
  std::unique_ptr<Outgoing> prepare_lend(const MessageAddress& address,
                                         std::span<std::byte> memory) override {
    return recorded(address, true, inner_.prepare_lend(address, memory));
  }
  std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                            std::span<std::byte> buffer) override {
    return inner_.prepare_receive(address, buffer);
  }
  std::unique_ptr<Incoming> prepare_borrow(const MessageAddress& address,
                                           std::size_t bytes) override {
    return inner_.prepare_borrow(address, bytes);
  }
  bool shares_memory(DeviceId a, DeviceId b) const override { return inner_.shares_memory(a, b); }
  Doorbell* doorbell(DeviceId device) override { return inner_.doorbell(device); }
  int local_devices() const override { return inner_.local_devices(); }
  int devices_here() const override { return inner_.devices_here(); }
  void fail(const std::string& reason, int code) override { inner_.fail(reason, code); }
  void progress() override { inner_.progress(); }

  std::vector<Offer> take_offers() {
    std::scoped_lock lock(mutex_);
    return std::exchange(offers_, {});
  }

 private:
  struct Recorded final : Outgoing {
    Recorded(RecordingTransport& to, Offer which, std::unique_ptr<Outgoing> how)
        : transport(to), offer(which), inner(std::move(how)) {}
    void start() override {
      transport.note(offer);
      inner->start();
    }
    bool done() override { return inner->done(); }

    RecordingTransport& transport;
    const Offer offer;
    const std::unique_ptr<Outgoing> inner;
  };

  std::unique_ptr<Outgoing> recorded(const MessageAddress& address, bool is_loan,
                                     std::unique_ptr<Outgoing> inner) {
    Offer offer{{address.from, address.to, is_loan}, address.tag};
    return std::make_unique<Recorded>(*this, offer, std::move(inner));
  }
  void note(const Offer& offer) {
    std::scoped_lock lock(mutex_);
    offers_.push_back(offer);
  }

  Transport& inner_;
  std::mutex mutex_;
  std::vector<Offer> offers_;  // guarded by mutex_
};

using Names = std::vector<std::string>;
using OrderByDevice = std::map<DeviceId, Names>;
using OrderByChannel = std::map<Channel, Names>;

/// Makes all starts and lengths differ, so that a timeline has a unique order.
TaskGraph with_lengths(TaskGraph graph) {
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    graph.tasks[at].choice.time = {static_cast<std::int64_t>(1000 + at % 7)};
  for (Communication& communication : graph.communications) communication.time = {5000};
  return graph;
}

std::vector<std::size_t> by_start(const TaskGraph& graph, const Timeline& timeline) {
  std::map<TaskId, std::size_t> tasks;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) tasks[graph.tasks[at].id] = at;
  std::vector<Span> spans = timeline.spans;
  std::ranges::stable_sort(spans, {}, &Span::start);
  std::vector<std::size_t> order;
  for (const Span& span : spans) order.push_back(tasks.at(span.task));
  return order;
}

OrderByDevice tasks_by_device(const TaskGraph& graph, const Timeline& timeline) {
  OrderByDevice order;
  for (std::size_t at : by_start(graph, timeline))
    order[graph.tasks[at].device].push_back(graph.tasks[at].name + " " +
                                            std::to_string(graph.tasks[at].id.index));
  return order;
}

/// The messages of a program by their numbers.
class MessageNames {
 public:
  MessageNames(const TaskGraph& graph, std::vector<DeviceId> devices)
      : graph_(graph), messages_(graph, devices, {}) {
    for (std::size_t at = 0; at < graph.communications.size(); ++at)
      for (std::size_t member = 0; member < graph.communications[at].devices.size(); ++member)
        for (const auto& [channel, first] : part(at, member).tags)
          if (channel.from == graph.communications[at].devices[member])
            first_tags_[channel][first] = at;
  }

  /// Channels on which a member's first message does not wait for another move.
  std::vector<Channel> offered_at_start(const Task& task) const {
    const Communication& communication = graph_[task.communication];
    auto member = static_cast<std::size_t>(task.member);
    std::vector<Channel> found;
    std::set<Channel> seen;
    for (const Move& move : part(task.communication.index(), member).recipe->moves.moves) {
      if (move.kind != MoveKind::send && move.kind != MoveKind::lend) continue;
      Channel channel = channel_of(move, Member{task.member, communication.devices});
      if (seen.insert(channel).second && move.after.empty()) found.push_back(channel);
    }
    return found;
  }

  /// Returns nothing for a message that is not the first of its communication on the channel: such
  /// a message may wait and be offered in the next step.
  std::optional<std::size_t> communication(const Offer& offer) const {
    const std::map<std::uint32_t, std::size_t>& tags = first_tags_.at(offer.channel);
    auto found = tags.find(offer.tag);
    return found == tags.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const PreparedMessages::Part& part(std::size_t communication, std::size_t member) const {
    return messages_.part(CommunicationId(communication), static_cast<int>(member));
  }

  const TaskGraph& graph_;
  PreparedMessages messages_;
  std::map<Channel, std::map<std::uint32_t, std::size_t>> first_tags_;
};

/// Over so many steps, the carried tasks of the last one included.
OrderByChannel simulated_messages(const TaskGraph& graph, const MessageNames& messages,
                                  const Timeline& pass, int steps) {
  OrderByChannel order;
  std::vector<std::size_t> tasks = by_start(graph, pass);
  for (int number = 0; number <= steps; ++number)
    for (std::size_t at : tasks) {
      const Task& task = graph.tasks[at];
      bool runs = task.lag > 0 ? number > 0 : number < steps;
      if (task.kind != TaskKind::start || !runs) continue;
      for (const Channel& channel : messages.offered_at_start(task))
        order[channel].push_back(graph[task.communication].name);
    }
  return order;
}

OrderByChannel executed_messages(const TaskGraph& graph, const MessageNames& messages,
                                 const std::vector<Offer>& offers) {
  std::set<std::pair<Channel, std::size_t>> at_start;
  for (const Task& task : graph.tasks)
    if (task.kind == TaskKind::start)
      for (const Channel& channel : messages.offered_at_start(task))
        at_start.insert({channel, task.communication.index()});
  OrderByChannel order;
  for (const Offer& offer : offers) {
    auto found = messages.communication(offer);
    if (found && at_start.contains({offer.channel, *found}))
      order[offer.channel].push_back(graph.communications[*found].name);
  }
  return order;
}

struct Planned {
  const char* model;
  const char* plan;
  std::int64_t devices;
  bool moves_beside;
};
void PrintTo(const Planned& p, std::ostream* out) {
  *out << p.model << " under " << p.plan << ":" << p.devices;
}

class SimulatedOrder : public testing::TestWithParam<Planned> {
 protected:
  SimulatedOrder()
      : asked_{.model = GetParam().model},
        model_(build_small(asked_)),
        config_(config_for(asked_, GetParam().devices)),
        setup_(set_up_runtime(config_.kernels, config_.parallel)),
        transport_(*setup_.transport) {
    OptimizerSpec optimizer = make_optimizer(config_, model_.train());
    Strategy strategy = ready_strategy(GetParam().plan, model_.train(), setup_.machine);
    strategy.sync.bucket = {1};  // a message for every gradient
    KernelTable kernels;
    graph_ = compile_program(
        {.graph = &model_.train(),
         .strategy = &strategy,
         .machine = &setup_.machine,
         .optimizer = &optimizer},
        [this](const std::vector<KernelRequest>& rows) { return setup_.answer(rows); }, kernels);
    SessionDevices devices = setup_.local();
    devices.transport = &transport_;
    if (GetParam().moves_beside) devices.mover = MoverThread::own_core;
    session_ = std::make_unique<Session>(devices, *setup_.backend);
    session_->add(graph_);
    session_->start();
    session_->write_scalar(Scalar::learning_rate, asked_.rate());
  }

  std::vector<DeviceId> all_devices() const {
    std::vector<DeviceId> all;
    for (std::int64_t at = 0; at < GetParam().devices; ++at)
      all.emplace_back(static_cast<std::size_t>(at));
    return all;
  }

  SmallCase asked_;
  zoo::Model model_;
  RunConfig config_;
  RuntimeSetup setup_;
  RecordingTransport transport_;
  TaskGraph graph_;
  std::unique_ptr<Session> session_;
};

TEST_P(SimulatedOrder, IsTheOrderOfTheRun) {
  constexpr int kSteps = 6;
  ASSERT_EQ(largest_lag(graph_), 1);
  Timeline simulated = simulate_loop(with_lengths(graph_)).pass;
  OrderByDevice tasks = tasks_by_device(graph_, simulated);
  for (int step = 0; step < kSteps; ++step) {
    run_small_step(*session_, model_, asked_.seed);
    if (step == 0) continue;  // nothing is carried into it
    EXPECT_EQ(tasks_by_device(graph_, session_->timeline("train")), tasks);
  }
  read_tensors(*session_, model_);  // after the carried tasks of the last step

  MessageNames names(graph_, all_devices());
  OrderByChannel messages = simulated_messages(graph_, names, simulated, kSteps);
  std::size_t compared = 0;
  for (const auto& [channel, list] : messages) compared += list.size();
  ASSERT_GT(compared, kSteps * messages.size()) << "several messages for a pair";
  EXPECT_EQ(executed_messages(graph_, names, transport_.take_offers()), messages);
}

TEST_P(SimulatedOrder, ATimelineKeepsItsWholeStepWhenCarriedTasksRunApart) {
  EXPECT_TRUE(session_->timeline("train").spans.empty());
  for (int step = 0; step < 3; ++step) run_small_step(*session_, model_, asked_.seed);
  std::vector<Span> steady = session_->timeline("train").spans;
  EXPECT_EQ(steady.size(), graph_.tasks.size());
  // Reading the state runs the carried tasks, so the next step has none to overlap with.
  read_tensors(*session_, model_);
  EXPECT_EQ(session_->timeline("train").spans, steady);
  run_small_step(*session_, model_, asked_.seed);
  EXPECT_EQ(session_->timeline("train").spans, steady);
  read_tensors(*session_, model_);
  std::vector<Span> apart = session_->timeline("train").spans;
  EXPECT_EQ(apart.size(), graph_.tasks.size());
  EXPECT_NE(apart, steady);
  std::map<DeviceId, SimTime> others, carried;  // the last end, the first start
  for (std::size_t at = 0; at < apart.size(); ++at) {
    const Span& span = apart[at];
    EXPECT_LT(span.start, span.end);
    if (graph_.tasks[at].lag > 0)
      carried[span.device] =
          std::min(carried.try_emplace(span.device, span.start).first->second, span.start);
    else
      others[span.device] = std::max(others[span.device], span.end);
  }
  for (const auto& [device, start] : carried) EXPECT_GT(start, others.at(device));
}

INSTANTIATE_TEST_SUITE_P(
    Plans, SimulatedOrder,
    testing::Values(Planned{"mlp", "data", 2, false}, Planned{"mlp", "data", 4, true},
                    Planned{"mlp", "tensor", 2, true}, Planned{"lenet", "hybrid", 2, false},
                    Planned{"lenet", "hybrid", 4, true}, Planned{"gpt2", "data", 2, true},
                    Planned{"gpt2", "data", 4, false}, Planned{"gpt2", "tensor", 4, false}),
    [](const auto& row) {
      return row.param.model + std::string("_") + row.param.plan +
             std::to_string(row.param.devices) + (row.param.moves_beside ? "_beside" : "");
    });

}  // namespace
}  // namespace troika
