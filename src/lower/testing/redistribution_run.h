// For tests: runs a redistribution on numbers, device by device, and says what is wrong.
#pragma once

#include <string>

#include "lower/redistribution.h"

namespace troika {

/// A request with a tensor that fits it.
struct RedistributionCase {
  RedistributionRequest request;
  /// By dimension of the frame: the extent of one outside the frame in front of it. The last one is
  /// behind all.
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> process, node;  ///< By device.

  Neighbourhood where() const { return {process, node}; }
  std::int32_t box(const Box& box);  ///< Its index, added to the request if it is new.
};

/// The number that a contribution's term has for an element of the tensor.
double number_of(std::size_t contribution, std::int32_t term, std::int64_t element);

struct RunOptions {
  std::uint64_t seed = 0;  ///< Of the order in which devices take turns.
  /// Numbers whose sums depend on the order of the additions.
  bool rough = false;
};

/// What became of a run.
struct RedistributionRun {
  std::string fault;  ///< Empty: every reader found its box with all terms combined.
  std::vector<std::int64_t> received;  ///< By device: elements of the frame that came from others.
  /// By reader and tile: what it reads, in the order of memory.
  std::vector<std::vector<std::vector<double>>> read;
};

/// Devices take turns at random. Each writes the tiles of the contributions, does its steps at
/// their moments and reads. A start never waits, a finish waits for all starts. Reading what nobody
/// wrote, writing twice, using a buffer while a message has it, waiting for ever and a wrong value
/// are faults, and so is an answer that is not in the order that the header promises.
RedistributionRun run(const RedistributionCase& made, const Redistribution& result,
                      const RunOptions& options = {});

}  // namespace troika
