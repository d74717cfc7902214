// Gradients against activations: for each layer with weights, the bytes that data parallelism sends
// to add up its gradients, the bytes that a split by its parameters sends instead, and where the
// choice flips. Bytes alone; what a plan takes is simulated.
//
// A layer on P devices, between operators that are split by samples; bytes are those that all
// devices send in a step, by algorithms that send least:
//   by samples     every device has the whole weight W and a part of its gradient. Adding these up
//                  and giving all devices the sum sends each element P-1 times twice: 2 (P-1) W.
//   by parameters  along an axis a of the weight. Nothing of the gradient is sent. A tensor without
//                  a (G bytes: x, if a are outputs) is needed whole on each device, though each has
//                  only its samples: (P-1) G. What each device adds to the tensor's gradient (or to
//                  the tensor, if it is an output: y, if a are inputs) is summed over devices, each
//                  of which keeps its samples: another (P-1) G. Of a tensor with a (E bytes: y)
//                  each device has all samples of its part of a, which change places with the
//                  parts of its samples: each keeps 1/P of what it has, (P-1)/P E, and again for
//                  the gradient.
// So for a linear layer with B samples 2 (P-1) in out stands against 2 (P-1) B (in + out / P), and
// the choice flips at B = in out / (in + out / P). Since W does not grow with B, fewer samples are
// for parameters; since E shrinks with P, so are more devices. Inputs of the model are not sent,
// and gradients that nobody needs are not either.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/indexed_graph.h"
#include "ops/optimizer_spec.h"

namespace troika {

/// Bytes of the tensors of a layer that is split along one axis of its weights.
struct ParameterSplit {
  std::string axis;         ///< "o"; of a recurrent layer "u", in single time steps.
  std::int64_t extent = 1;  ///< Of the axis: more devices cannot share it.
  Bytes gathered{};         ///< G, once for each time that it is sent: forward, backward or both.
  Bytes exchanged{};        ///< E, in the same way.

  Bytes bytes(std::int64_t devices) const;
};

struct LayerTraffic {
  std::size_t op = 0;
  Bytes weights{};                     ///< Of those that are trained.
  std::vector<ParameterSplit> splits;  ///< One for each axis of the weights; never empty.

  /// Sent by all devices for the sum of the gradients.
  Bytes gradient_bytes(std::int64_t devices) const;
  /// The split that sends least.
  const ParameterSplit& best(std::int64_t devices) const;
  bool prefers_parameters(std::int64_t devices) const;
  /// The number of devices, maybe between two whole ones, from which on a split by parameters sends
  /// less, with the batch of the graph. Nothing: on no number of devices. At most 1: on all.
  std::optional<double> flip_devices() const;
  /// The batch at which the choice flips on so many devices, relative to that of the graph: smaller
  /// ones are for parameters. Nothing: no activations are sent, so all of them are.
  std::optional<double> flip_batch(std::int64_t devices) const;
};

/// The linear, convolution, embedding and recurrent layers that are trained.
std::vector<LayerTraffic> parameter_traffic(const IndexedGraph& index);

}  // namespace troika
