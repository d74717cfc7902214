// The random number of an element depends on seed, step and its place in the global tensor. So the
// result does not depend on how the tensor is divided, and backward draws the numbers again.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/random.h"
#include "kernels/cpu/box.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/step_values.h"

namespace troika {
namespace {

/// Rows of neighbouring elements of the global tensor, and the offset of each in it, counted from
/// the begin of the tile.
struct GlobalRows {
  Box<1> rows;
  std::int64_t length = 1;
  Strides strides;  ///< Of the global tensor.

  GlobalRows(const Dropout& op, const Shape& tile)
      : strides((op.extents.empty() ? tile : Shape(std::span(op.extents))).strides()) {
    if (op.extents.empty()) {
      length = tile.elements();
      return;
    }
    for (std::size_t dim = 0; dim + 1 < tile.rank(); ++dim) rows.add(tile[dim], {strides[dim]});
    if (tile.rank() > 0) length = tile.back();
  }
  /// The element of the global tensor that a tile with this begin starts with.
  std::int64_t first(std::span<const std::int64_t> begin) const {
    std::int64_t element = 0;
    for (std::size_t dim = 0; dim < begin.size(); ++dim) element += begin[dim] * strides[dim];
    return element;
  }
};

/// Elements whose numbers are drawn at once. The generator yields blocks of four.
constexpr std::int64_t kChunk = 256, kBlocks = kChunk / 4;

/// RandomStream::words (base/random.h) of many neighbouring blocks at once: each round is one loop
/// over them, which compilers vectorise.
struct WordLanes {
  std::uint32_t word[4][kBlocks];

  WordLanes(const RandomStream& random, std::uint64_t first) {
    for (std::int64_t lane = 0; lane < kBlocks; ++lane) {
      std::uint64_t block = first + static_cast<std::uint64_t>(lane);
      word[0][lane] = static_cast<std::uint32_t>(block);
      word[1][lane] = static_cast<std::uint32_t>(block >> 32);
      word[2][lane] = random.step;
      word[3][lane] = static_cast<std::uint32_t>(random.stream >> 32);
    }
    // The key of RandomStream::words, then the ten rounds of Philox4x32-10 with its constants.
    std::uint64_t mixed = random.key ^ (random.stream * 0x9E3779B97F4A7C15u);
    auto key0 = static_cast<std::uint32_t>(mixed), key1 = static_cast<std::uint32_t>(mixed >> 32);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u)
      advance(key0, key1);
  }

  void advance(std::uint32_t key0, std::uint32_t key1) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kBlocks; ++lane) {
      std::uint64_t a = std::uint64_t{0xD2511F53u} * word[0][lane];
      std::uint64_t b = std::uint64_t{0xCD9E8D57u} * word[2][lane];
      word[0][lane] = static_cast<std::uint32_t>(b >> 32) ^ word[1][lane] ^ key0;
      word[2][lane] = static_cast<std::uint32_t>(a >> 32) ^ word[3][lane] ^ key1;
      word[1][lane] = static_cast<std::uint32_t>(b);
      word[3][lane] = static_cast<std::uint32_t>(a);
    }
  }
};

/// The words of the elements [begin, begin + kChunk) of the stream; begin is a multiple of four.
TROIKA_VECTORIZED void draw(const RandomStream& random, std::uint64_t begin, std::uint32_t* words) {
  WordLanes lanes(random, begin / 4);
  for (std::int64_t lane = 0; lane < kBlocks; ++lane) {
    for (std::int64_t at = 0; at < 4; ++at) words[lane * 4 + at] = lanes.word[at][lane];
  }
}

struct Threshold {
  std::uint32_t word;  ///< Kept from here on, of 24 bits.
  float scale;

  explicit Threshold(double rate)
      : word(static_cast<std::uint32_t>(std::ceil(rate * 0x1p24))),
        scale(static_cast<float>(1 / (1 - rate))) {}
};

/// Elements that are neighbours in the global tensor, from number `start` on; added to `residual`
/// unless it is null.
void run_row(const RandomStream& random, Threshold keep, std::int64_t start, std::int64_t length,
             const float* from, const float* residual, float* to) {
  std::uint32_t words[kChunk];
  // Begins with the block of four that contains `start`; its first numbers may not be used.
  for (std::int64_t at = -(start % 4); at < length; at += kChunk) {
    draw(random, static_cast<std::uint64_t>(start + at), words);
    std::int64_t begin = std::max<std::int64_t>(at, 0), end = std::min(at + kChunk, length);
    // word[i] belongs to element i of the row.
    const std::uint32_t* word = words - at;
    auto kept = [=](std::int64_t i) {
      return word[i] >> 8 >= keep.word ? from[i] * keep.scale : 0.0f;
    };
    if (residual != nullptr)
      run_range(begin, end, [=](std::int64_t i) { to[i] = residual[i] + kept(i); });
    else
      run_range(begin, end, [=](std::int64_t i) { to[i] = kept(i); });
  }
}

/// Returns whether a residual sum is fused; nothing if another operator is.
std::optional<bool> adds_residual(const KernelKey& key) {
  if (key.fused.empty()) return false;
  const Binary* sum = std::get_if<Binary>(&key.fused[0].op);
  bool is_sum = key.fused.size() == 1 && sum != nullptr && sum->kind == BinaryKind::add &&
                key.fused[0].others[0] == key.inputs[0];
  return is_sum ? std::optional(true) : std::nullopt;
}

}  // namespace

/// Forward and backward are equal: the random stream decides which elements are kept.
Offers offers(const Dropout& op, const Request& request) {
  std::optional<bool> adds = adds_residual(request.key);
  if (!adds) return {};
  Loop loop = [rate = op.rate, adds = *adds,
               rows = GlobalRows(op, request.shape(0))](const Launch& launch) {
    StepKey key = step_key({launch.at<double>(1), kScalarCount});
    auto stream = static_cast<std::uint64_t>(launch.position[0]);
    RandomStream random{.key = key.seed, .stream = stream, .step = key.step};
    std::int64_t first = rows.first(launch.position.subspan(1));
    Threshold keep(rate);
    const float *from = launch.at(0), *residual = adds ? launch.at(2) : nullptr;
    float* to = launch.at(adds ? 3 : 2);
    // Long rows are divided too, for a tensor may be a single row.
    std::int64_t pieces = (rows.length + kSumBlock - 1) / kSumBlock;
    for_rows(launch.threads, rows.rows.elements() * pieces, std::min(rows.length, kSumBlock),
             [&](std::int64_t piece) {
               std::int64_t row = piece / pieces, begin = piece % pieces * kSumBlock;
               std::int64_t at = row * rows.length + begin;
               run_row(random, keep, first + rows.rows.offsets(row)[0] + begin,
                       std::min(kSumBlock, rows.length - begin), from + at,
                       adds ? residual + at : nullptr, to + at);
             });
  };
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain),
                      .in_place = {{*adds ? 3 : 2, 0}}};
  return {offer_loop(request, candidate, loop)};
}

}  // namespace troika
