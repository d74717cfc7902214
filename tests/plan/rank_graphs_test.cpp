// A rank lowers the tasks of its own devices. They are those that lowering for all devices gives,
// and every rank decides the same without the others.
#include <gtest/gtest.h>

#include <set>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

/// The part of a graph of all devices that belongs to some of them.
class Restriction {
 public:
  Restriction(const TaskGraph& whole, const std::vector<DeviceId>& devices) : whole_(whole) {
    part_.name = whole.name;
    part_.devices = devices;
    part_.storage = whole.storage;
    part_.plan_hash = whole.plan_hash;
    part_.arena.resize(whole.arena.size());
    for (DeviceId device : devices) part_.arena[device.index()] = whole.arena[device.index()];
  }

  TaskGraph make() {
    restrict_buffers();
    restrict_communications();
    restrict_tasks();
    for (const auto& [name, id] : whole_.inputs)
      if (new_id(id).valid()) part_.inputs[name] = new_id(id);
    for (const auto& [name, id] : whole_.outputs)
      if (new_id(id).valid()) part_.outputs[name] = new_id(id);
    return std::move(part_);
  }

 private:
  BufferId new_id(BufferId old) const { return old.valid() ? buffers_[old.index()] : BufferId{}; }

  void restrict_buffers() {
    std::size_t count = 0;
    for (const BufferSpec& buffer : whole_.buffers)
      buffers_.push_back(part_.holds(buffer.device) ? BufferId(count++) : BufferId{});
    for (BufferSpec buffer : whole_.buffers) {
      if (!part_.holds(buffer.device)) continue;
      buffer.view_of = new_id(buffer.view_of);
      part_.buffers.push_back(std::move(buffer));
    }
  }

  void restrict_communications() {
    for (Communication communication : whole_.communications) {
      for (BufferId& buffer : communication.buffers) buffer = new_id(buffer);
      communication.phases = {};  // a rank cannot simulate
      bool is_here = std::ranges::any_of(communication.buffers, &BufferId::valid);
      communications_.push_back(is_here ? CommunicationId(part_.communications.size())
                                        : CommunicationId{});
      if (is_here) part_.communications.push_back(std::move(communication));
    }
  }

  void restrict_tasks() {
    std::vector<std::size_t> places(whole_.tasks.size());
    for (std::size_t at = 0; at < whole_.tasks.size(); ++at) {
      Task task = whole_.tasks[at];
      if (!part_.holds(task.device)) continue;
      for (BufferUse& use : task.uses) use.buffer = new_id(use.buffer);
      task.scratch = new_id(task.scratch);
      if (!task.computes()) task.communication = communications_[task.communication.index()];
      places[at] = part_.tasks.size();
      part_.tasks.push_back(std::move(task));
    }
    for (const Dependency& edge : whole_.dependencies)
      if (part_.holds(whole_.tasks[edge.from].device))
        part_.dependencies.push_back({places[edge.from], places[edge.to], edge.distance});
  }

  const TaskGraph& whole_;
  TaskGraph part_;
  std::vector<BufferId> buffers_;
  std::vector<CommunicationId> communications_;
};

/// Lists communications by their ids: ranks meet them in different orders.
TaskGraph in_order_of_ids(TaskGraph graph) {
  std::vector<Communication> listed = graph.communications;
  std::ranges::sort(graph.communications, {}, &Communication::id);
  for (Task& task : graph.tasks)
    if (!task.computes()) {
      CollectiveId id = listed[task.communication.index()].id;
      auto found = std::ranges::lower_bound(graph.communications, id, {}, &Communication::id);
      task.communication =
          CommunicationId(static_cast<std::size_t>(found - graph.communications.begin()));
    }
  return graph;
}

template <class T>
void expect_equal(const std::vector<T>& own, const std::vector<T>& wanted) {
  ASSERT_EQ(own.size(), wanted.size());
  for (std::size_t at = 0; at < own.size(); ++at)
    ASSERT_TRUE(own[at] == wanted[at]) << own[at].name << " is not " << wanted[at].name;
}

void expect_same(const TaskGraph& own, const TaskGraph& wanted) {
  ASSERT_NO_FATAL_FAILURE(expect_equal(own.buffers, wanted.buffers));
  ASSERT_NO_FATAL_FAILURE(expect_equal(own.communications, wanted.communications));
  ASSERT_NO_FATAL_FAILURE(expect_equal(own.tasks, wanted.tasks));
  ASSERT_NO_FATAL_FAILURE(expect_equal(own.storage, wanted.storage));
  ASSERT_EQ(own.dependencies, wanted.dependencies);
  ASSERT_TRUE(own == wanted);
}

std::set<std::string> texts_of(const LowerResult& result) {
  std::set<std::string> texts;
  if (const auto* missing = std::get_if<MissingRows>(&result))
    for (const KernelRequest& row : missing->rows) texts.insert(row.kind + " " + to_text(row.key));
  return texts;
}

/// A model of the zoo on devices that ranks share out evenly, neighbours together.
struct Case : Lowered {
  Case(const std::string& model, std::size_t devices, std::size_t ranks)
      : per_rank(devices / ranks) {
    zoo::ModelRequest asked = zoo::small_request(model);
    asked.samples.batch = 16;
    graph = zoo::build(asked).train();
    machine.devices.resize(devices);
    for (std::size_t at = 0; at < devices; ++at)
      machine.devices[at].rank = static_cast<std::int32_t>(at / per_rank);
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      if (parameter.trained && !parameter.state)
        optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    // So that there are reorders, of which only some devices have some.
    kernels.wants["conv2d"] = {Layout::channels_last, Layout::plain, Layout::channels_last};
  }

  std::vector<DeviceId> devices_of(std::size_t rank) const {
    std::vector<DeviceId> devices;
    for (std::size_t at = 0; at < per_rank; ++at) devices.emplace_back(rank * per_rank + at);
    return devices;
  }

  LowerRequest training() {
    LowerRequest asked = request();
    asked.outputs.clear();
    return asked;
  }

  /// Lowers for all devices and for each rank; all must lack the same rows until none is missing.
  TaskGraph expect_parts(LowerRequest asked) const {
    KernelTable table;
    LowerResult whole = lower(asked, table);
    while (const auto* missing = std::get_if<MissingRows>(&whole)) {
      std::set<std::string> rows = texts_of(whole);
      for_each_rank([&](std::size_t, const std::vector<DeviceId>& devices) {
        asked.devices = devices;
        ASSERT_EQ(texts_of(lower(asked, table)), rows);
      });
      table = kernels.answer(missing->rows, table);
      asked.devices.clear();
      whole = lower(asked, table);
    }
    const TaskGraph& tasks = std::get<TaskGraph>(whole);
    for_each_rank([&](std::size_t rank, const std::vector<DeviceId>& devices) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      asked.devices = devices;
      LowerResult own = lower(asked, table);
      ASSERT_TRUE(std::holds_alternative<TaskGraph>(own));
      expect_same(in_order_of_ids(std::get<TaskGraph>(own)),
                  in_order_of_ids(Restriction(tasks, devices).make()));
    });
    return tasks;
  }

  void for_each_rank(
      const std::function<void(std::size_t, const std::vector<DeviceId>&)>& visit) const {
    for (std::size_t rank = 0; rank < machine.devices.size() / per_rank; ++rank)
      if (!testing::Test::HasFatalFailure()) visit(rank, devices_of(rank));
  }

  std::size_t per_rank;
};

/// Training, and evaluation over the state that training stores.
void expect_parts_of_both(Case& own) {
  TaskGraph train = own.expect_parts(own.training());
  LowerRequest forward = own.request();
  forward.name = "evaluate";
  forward.optimizer = nullptr;
  forward.outputs.clear();
  for (const NamedTensor& output : own.graph.outputs) forward.outputs.push_back(output.name);
  forward.storage = train.storage;
  own.expect_parts(forward);
}

struct Size {
  std::size_t devices, ranks;
};
constexpr Size kSizes[] = {{4, 2}, {8, 8}};

TEST(RankGraphs, ArePartsOfTheGraphOfAllDevices) {
  for (const char* model : {"gpt2", "lenet"})
    for (auto [devices, ranks] : kSizes)
      for (std::string_view plan : ready_names()) {
        SCOPED_TRACE(fmt::format("{} {} on {} for {}", model, plan, devices, ranks));
        Case own(model, devices, ranks);
        own.strategy = ready_strategy(plan, own.graph, own.machine);
        if (why_infeasible(own.strategy, own.graph, own.machine)) continue;
        expect_parts_of_both(own);
      }
}

TEST(RankGraphs, ArePartsUnderEveryWayToUpdate) {
  for (auto [devices, ranks] : kSizes)
    for (const char* what : {"sliced", "micro-batches", "clipped", "fixed", "uncarried", "mixed"}) {
      SCOPED_TRACE(fmt::format("{} on {} for {}", what, devices, ranks));
      Case own("gpt2", devices, ranks);
      std::string name = what;
      own.strategy = data_parallel(own.graph, own.machine);
      if (name == "mixed" || name == "sliced")
        own.strategy = mixed_parallel(
            own.graph, {.data = static_cast<std::int64_t>(devices) / 2, .tensor = 2});
      if (name == "fixed") own.strategy = fixed_order(own.graph, own.machine, 8);
      own.strategy.sync.sliced_update = name == "sliced";
      own.strategy.sync.carry_updates = name != "uncarried";
      if (name == "micro-batches") own.strategy.micro_batches = 2;
      if (name == "clipped") own.optimizer.clip_norm = 1;
      ASSERT_FALSE(why_infeasible(own.strategy, own.graph, own.machine));
      expect_parts_of_both(own);
    }
}

TEST(RankGraphs, ArePartsUnderRandomStrategies) {
  for (const char* model : {"gpt2", "lenet"})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}", model, seed));
      Case own(model, 4, 2);
      own.kernels.wants.clear();  // the fake sums take plain operands only
      own.strategy = seed % 2 == 0 ? random_strategy(own.graph, own.machine, seed)
                                   : random_view_strategy(own.graph, own.machine, seed);
      expect_parts_of_both(own);
    }
}

}  // namespace
}  // namespace troika
