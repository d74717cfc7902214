// Two layers that are cut into chunks and lie on two devices work at the same time.
#include <gtest/gtest.h>

#include "graph/layers_recurrent.h"
#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "sim/simulate.h"

namespace troika {
namespace {

constexpr std::int64_t kChunks = 8;
constexpr SimTime kChunkTime{1'000'000};

/// Two layers and a loss, trained. Each phase of a chunk takes kChunkTime, all else next to
/// nothing, and messages are fast.
struct TwoLayers : Lowered {
  TwoLayers() {
    GraphBuilder b("stack");
    TensorId x = b.input("x", {{4, 2 * kChunks, 3}, DType::f32});
    TensorId target = b.input("target", {{4, 2 * kChunks}, DType::i32});
    TensorId weight = b.input("weight", {{4, 2 * kChunks}, DType::f32});
    TensorId y = layers::recurrent(b, "rnn", x, {.hidden = 4, .layers = 2}).y;
    b.loss("loss", CrossEntropy{}, {y, target, weight});
    graph = b.finish();
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      optimizer.rules.emplace(parameter.name, Sgd{});
    machine = make_machine({.nodes = {{.count = 1, .devices = 2}}, .node_link = {1e12, {0}}});
    kernels.revise = [](const KernelKey& key, std::vector<Candidate>& candidates) {
      candidates[0].time = std::holds_alternative<Recurrent>(key.op) ? kChunkTime : SimTime{1};
    };
  }

  /// Of a step, in units of what one chunk takes.
  double chunks_in_a_row(std::int64_t second_device) {
    strategy.splits["rnn.0"] = {.chunks = kChunks};
    strategy.splits["rnn.1"] = {.first = second_device, .chunks = kChunks};
    LowerRequest asked = request();
    asked.outputs.clear();
    return static_cast<double>(simulate(run(asked)).length().count) /
           static_cast<double>(kChunkTime.count);
  }
};

TEST(Wavefront, OverlapsAllChunksOfTwoLayersButTheFirstAndTheLast) {
  TwoLayers layers;
  // Forward and backward of both layers, one chunk after the other.
  EXPECT_NEAR(layers.chunks_in_a_row(0), 2 * 2 * kChunks, 0.5);
  // The second layer starts one chunk after the first, and in backward the first after the second.
  EXPECT_NEAR(layers.chunks_in_a_row(1), 2 * (kChunks + 1), 0.5);
}

}  // namespace
}  // namespace troika
