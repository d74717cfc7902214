// Recurrent layers cut over time: one operator per chunk of consecutive steps. Chunks share the
// weights and hand the state on, so that layers which follow each other can work on different
// chunks at the same time (a wavefront).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace troika {

struct LayerCuts {
  /// By name of a recurrent operator: into how many chunks, of nearly equal length.
  std::map<std::string, std::int64_t> chunks;
  /// Cut layers whose chunks run on different devices: each chunk has its own input projection.
  std::set<std::string> apart{};
  /// Dropouts between cut layers that must stay in one piece.
  std::set<std::string> whole{};
  /// Cut layers that do not take over the chunks of the layer below.
  std::set<std::string> alone{};

  bool operator==(const LayerCuts&) const = default;
};

/// The part of an operator that an operator of the cut graph does.
struct OperatorOrigin {
  enum class Part : std::uint8_t {
    whole,       ///< All of it.
    projection,  ///< The input projection of a layer, of all steps or of one chunk.
    split,       ///< Cuts the input projection, or x if the chunks run apart, into chunks.
    chunk,       ///< The steps of one chunk of a layer, or of a dropout.
    join,        ///< Joins the outputs of the chunks.
  };
  std::int32_t of = -1;  ///< Operator of the graph before, by its place.
  Part part = Part::whole;
  std::int32_t chunk = -1;  ///< Counted along time; -1: all of them.

  bool operator==(const OperatorOrigin&) const = default;
};

struct CutGraph {
  Graph graph;
  std::vector<OperatorOrigin> origins;  ///< By operator.
};

/// Time steps of a recurrent layer.
std::int64_t steps_of(const Graph& graph, const Operator& layer);

/// The name of the input projection of all steps of a cut layer.
std::string projection_name(const std::string& layer);

/// Why these layers cannot be cut so. Nothing if they can.
[[nodiscard]] std::optional<std::string> why_not_cut(const Graph& graph, const LayerCuts& cuts);

/// Replaces the layers by their chunks. `why_not_cut` must have returned nothing. Parameters,
/// inputs and outputs stay as they are, and so do the names of all other operators. A layer
/// 'lstm.0' becomes 'lstm.0/input' (the input projection of all steps, one product),
/// 'lstm.0/split', the chunks 'lstm.0/0', 'lstm.0/1', ..., and 'lstm.0/output', which joins y.
///
/// If a layer reads the output of another one with as many chunks and the same direction, directly
/// or through dropout, and is not in `alone`, it takes over its chunks: its input projection and
/// the dropout are cut too ('lstm.1/input/0'), and the operators of both layers alternate chunk by
/// chunk. A device that has the second layer then starts as soon as the first chunk is there.
CutGraph cut_layers(const Graph& graph, const LayerCuts& cuts);

}  // namespace troika
