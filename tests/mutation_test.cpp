// Checks that the comparison of same_answer_test.cpp detects faulty passes: a task graph is lowered
// as usual, damaged in one place, and run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "setup/live_model.h"
#include "setup/optimizer_rules.h"
#include "small_training.h"
#include "strategy/ready.h"

namespace troika {
namespace {

using Damage = std::function<void(TaskGraph&)>;

bool have_different_losses(const SmallTraining& a, const SmallTraining& b) {
  for (std::size_t step = 0; step < b.losses.size(); ++step)
    if (!(std::abs(a.losses[step] - b.losses[step]) <= 1e-9 * std::abs(b.losses[step])))
      return true;
  return false;
}

/// A model with one graph under a ready plan, in f64 with reference kernels.
class DamagedTraining {
 public:
  DamagedTraining(const std::string& model, const std::string& plan, std::int64_t devices)
      : asked_{.model = model},
        model_(build_small(asked_)),
        config_(config_for(asked_, devices)),
        setup_(set_up_runtime(config_.kernels, config_.parallel)),
        optimizer_(make_optimizer(config_, graph())),
        strategy_(ready_strategy(plan, graph(), setup_.machine)),
        tasks_(compile_program(
            {.graph = &graph(),
             .strategy = &strategy_,
             .machine = &setup_.machine,
             .optimizer = &optimizer_},
            [this](const std::vector<KernelRequest>& rows) { return setup_.answer(rows); },
            kernels_)),
        truth_(train_small(asked_, 1, Strategy::single())) {}

  const TaskGraph& tasks() const { return tasks_; }

  /// Returns true if the results differ from those of one device.
  bool is_caught(const Damage& damage) {
    TaskGraph damaged = tasks_;
    damage(damaged);
    damaged.dependencies = find_dependencies(damaged);
    Session session(setup_.local(), *setup_.backend);
    session.add(damaged);
    session.start();
    for (const Parameter& parameter : graph().parameters)
      session.load(parameter.name, initial_values(parameter, asked_.seed));
    SmallTraining found = run_small(session, model_, asked_);
    return compare_movements({truth_.start, found.first, truth_.first}, 1e-9).first ||
           compare_movements({truth_.start, found.last, truth_.last}, 1e-9).first ||
           have_different_losses(found, truth_);
  }

 private:
  const Graph& graph() const { return model_.train(); }

  SmallCase asked_;
  zoo::Model model_;
  RunConfig config_;
  RuntimeSetup setup_;
  OptimizerSpec optimizer_;
  Strategy strategy_;
  KernelTable kernels_;
  TaskGraph tasks_;
  SmallTraining truth_;
};

/// Removes a message: it is neither sent nor received.
void drop_communication(TaskGraph& graph, CommunicationId id) {
  std::erase_if(graph.tasks, [&](const Task& task) { return task.communication == id; });
}

std::vector<CommunicationId> communications_of(const TaskGraph& graph) {
  std::vector<CommunicationId> all;
  for (std::size_t at = 0; at < graph.communications.size(); ++at)
    all.push_back(CommunicationId(at));
  return all;
}

struct Setting {
  const char* model;
  const char* plan;
  std::int64_t devices;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.model << " under " << setting.plan << ":" << setting.devices;
}

class Mutation : public testing::TestWithParam<Setting> {
 protected:
  DamagedTraining training{GetParam().model, GetParam().plan, GetParam().devices};
};

TEST_P(Mutation, NothingDamagedIsNothingCaught) {
  EXPECT_FALSE(training.is_caught([](TaskGraph&) {}));
}

TEST_P(Mutation, EveryCommunicationIsMissedWhenItIsDropped) {
  ASSERT_FALSE(training.tasks().communications.empty());
  for (CommunicationId id : communications_of(training.tasks()))
    EXPECT_TRUE(training.is_caught([&](TaskGraph& graph) { drop_communication(graph, id); }))
        << training.tasks()[id].name;
}

/// Returns the tasks that assemble or sum a value from several parts.
std::vector<std::size_t> tasks_from_several(const TaskGraph& graph, bool sums) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Op& op = graph.tasks[at].key.op;
    bool fits = sums ? std::holds_alternative<Sum>(op) : std::holds_alternative<Assemble>(op);
    if (graph.tasks[at].computes() && fits && graph.tasks[at].key.inputs.size() > 1)
      found.push_back(at);
  }
  return found;
}

/// Drops the last row, along the longest dimension, of the last box.
void drop_row(Task& task) {
  Assemble& op = std::get<Assemble>(task.key.op);
  std::size_t rank = op.shape.size();
  auto extents = op.boxes.end() - static_cast<std::ptrdiff_t>(rank);
  --*std::max_element(extents, op.boxes.end());
}

TEST_P(Mutation, EveryRowThatIsPutTogetherIsMissedWhenItIsDropped) {
  std::vector<std::size_t> assembled = tasks_from_several(training.tasks(), false);
  std::erase_if(assembled, [&](std::size_t at) {  // whose last row is never read
    return training.tasks().tasks[at].name.starts_with("loss totals");
  });
  if (assembled.empty()) GTEST_SKIP() << "nothing is put together";
  for (std::size_t at : assembled) {
    EXPECT_TRUE(training.is_caught([&](TaskGraph& graph) { drop_row(graph.tasks[at]); }))
        << training.tasks().tasks[at].name;
  }
}

TEST_P(Mutation, EveryTermOfASumIsMissedWhenAnotherCountsTwice) {
  std::vector<std::size_t> sums = tasks_from_several(training.tasks(), true);
  if (sums.empty()) GTEST_SKIP() << "nothing is added up on a device";
  for (std::size_t at : sums)
    EXPECT_TRUE(training.is_caught([&](TaskGraph& graph) {
      graph.tasks[at].uses[1] = graph.tasks[at].uses[0];
    })) << training.tasks().tasks[at].name;
}

TEST_P(Mutation, TheLastGradientOfABucketIsMissedWhenItIsLeftOut) {
  int buckets = 0;
  for (CommunicationId id : communications_of(training.tasks())) {
    BufferId bucket = training.tasks()[id].buffers[0];
    Bytes last;
    for (const BufferSpec& buffer : training.tasks().buffers)
      if (buffer.view_of == bucket && buffer.category == Category::gradient)
        last = std::max(last, buffer.view_offset);
    if (last == Bytes{}) continue;
    ++buckets;
    EXPECT_TRUE(training.is_caught([&](TaskGraph& graph) {
      Communication& damaged = graph.communications[id.index()];
      damaged.call.count = last.count / size_of(damaged.dtype).count;
    })) << training.tasks()[id].name;
  }
  if (buckets == 0) GTEST_SKIP() << "no two gradients travel together";
}

/// Returns pairs of buffers of two devices that hold equally large parts of one tensor.
std::vector<std::pair<BufferId, BufferId>> pairs_of_slices(const TaskGraph& graph) {
  std::vector<std::pair<BufferId, BufferId>> pairs;
  for (std::size_t a = 0; a < graph.buffers.size(); ++a) {
    for (std::size_t b = a + 1; b < graph.buffers.size(); ++b) {
      const BufferSpec &one = graph.buffers[a], &other = graph.buffers[b];
      if (!one.part_of.empty() && one.part_of == other.part_of && one.spec == other.spec &&
          one.device != other.device && one.region != other.region)
        pairs.emplace_back(BufferId(a), BufferId(b));
    }
  }
  return pairs;
}

TEST_P(Mutation, SlicesAreMissedWhenTwoDevicesSwapThem) {
  std::set<std::string> tensors;
  for (auto [a, b] : pairs_of_slices(training.tasks())) {
    const std::string& tensor = training.tasks()[a].part_of;
    // The sample weights are all 1, and the optimizer's state starts as zeros.
    bool is_uniform = tensor == "weight" || training.tasks()[a].category == Category::optimizer;
    if (is_uniform || !tensors.insert(tensor).second) continue;
    EXPECT_TRUE(training.is_caught([&, a = a, b = b](TaskGraph& graph) {
      std::swap(graph[a].region, graph[b].region);
    })) << tensor;
  }
  EXPECT_FALSE(tensors.empty());
}

INSTANTIATE_TEST_SUITE_P(Plans, Mutation,
                         testing::Values(Setting{"mlp", "data", 2}, Setting{"mlp", "tensor", 2},
                                         Setting{"lenet", "spatial", 2},
                                         Setting{"gpt2", "tensor", 2}),
                         [](const auto& row) {
                           return std::string(row.param.model) + "_" + row.param.plan;
                         });

}  // namespace
}  // namespace troika
