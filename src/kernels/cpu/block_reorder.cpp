#include "kernels/cpu/block_reorder.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/block_transpose.h"
#include "kernels/cpu/loops.h"

namespace troika {
namespace {

template <int Side>
TROIKA_VECTORIZED void transpose_squares(const float* from, float* to, std::int64_t squares) {
  for (std::int64_t at = 0; at < squares * Side * Side; at += Side * Side)
    transpose_square<Side>(from + at, Side, to + at, Side);
}

/// Between weights blocked i,o and o,i: the blocks stay where they are.
template <int Side>
Loop weight_squares(std::int64_t elements) {
  return [elements](const Launch& launch) {
    std::int64_t squares = elements / (Side * Side);
    int threads = elements < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, squares, 4, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t at = begin * Side * Side;
      transpose_squares<Side>(launch.at(0) + at, launch.at(1) + at, end - begin);
    });
  };
}

/// Images whose pixels hold all channels, and the same in blocks of channels.
struct PixelBlocks {
  std::int64_t images, pixels, channels, block, blocks;

  std::int64_t lanes(std::int64_t at) const { return std::min(block, channels - at * block); }
};

/// Pixels that are moved together: long runs on the blocked side, and few enough pixels for a
/// thread's own caches on the other.
std::int64_t pixels_together(const PixelBlocks& p) {
  return std::clamp<std::int64_t>((1 << 16) / p.channels, 16, 256);
}

template <int Block>
TROIKA_VECTORIZED void move_lanes(const Matrix& m, std::int64_t pixels, std::int64_t lanes) {
  if (lanes == Block) {
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      std::memcpy(m.to + pixel * m.to_row, m.from + pixel * m.from_row, Block * sizeof(float));
    return;
  }
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      m.to[pixel * m.to_row + lane] = m.from[pixel * m.from_row + lane];
}

void move_block(const PixelBlocks& p, const Matrix& m, std::int64_t pixels, std::int64_t block) {
  p.block == 16 ? move_lanes<16>(m, pixels, p.lanes(block))
                : move_lanes<8>(m, pixels, p.lanes(block));
}

/// f(image, first pixel, pixels) for groups of pixels.
template <class F>
void for_pixels(int threads, const PixelBlocks& p, const F& f) {
  std::int64_t most = pixels_together(p), per_image = (p.pixels + most - 1) / most;
  int parts = p.images * p.pixels * p.channels < kSmallLoop ? 1 : threads;
  for_shares(parts, p.images * per_image, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      std::int64_t first = group % per_image * most;
      f(group / per_image, first, std::min(most, p.pixels - first));
    }
  });
}

Loop blocks_to_pixels(const PixelBlocks& p) {
  return [p](const Launch& launch) {
    for_pixels(launch.threads, p, [&](std::int64_t image, std::int64_t first, std::int64_t pixels) {
      float* y = launch.at(1) + (image * p.pixels + first) * p.channels;
      for (std::int64_t block = 0; block < p.blocks; ++block) {
        const float* x = launch.at(0) + ((image * p.blocks + block) * p.pixels + first) * p.block;
        move_block(p, {x, p.block, y + block * p.block, p.channels}, pixels, block);
      }
    });
  };
}

Loop pixels_to_blocks(const PixelBlocks& p) {
  return [p](const Launch& launch) {
    for_pixels(launch.threads, p, [&](std::int64_t image, std::int64_t first, std::int64_t pixels) {
      const float* x = launch.at(0) + (image * p.pixels + first) * p.channels;
      for (std::int64_t block = 0; block < p.blocks; ++block) {
        float* y = launch.at(1) + ((image * p.blocks + block) * p.pixels + first) * p.block;
        if (p.lanes(block) < p.block) std::fill_n(y, pixels * p.block, 0.0f);
        move_block(p, {x + block * p.block, p.channels, y, p.block}, pixels, block);
      }
    });
  };
}

TROIKA_VECTORIZED void transpose_part(const Matrix& m, std::int64_t rows, std::int64_t columns) {
  transpose_matrix(m, rows, columns);
}

/// A matrix and its transpose, in strips of columns that become rows.
Loop transposed(std::int64_t rows, std::int64_t columns) {
  return [=](const Launch& launch) {
    int threads = rows * columns < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, columns, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += 64)
        transpose_part({launch.at(0) + at, columns, launch.at(1) + at * rows, rows}, rows,
                       std::min<std::int64_t>(64, end - at));
    });
  };
}

PixelBlocks pixel_blocks(const Shape& shape, std::int64_t block) {
  return {shape[0], shape[2] * shape[3], shape[1], block, (shape[1] + block - 1) / block};
}

}  // namespace

std::optional<Loop> block_reorder(const Reorder& op, const Shape& shape) {
  auto between = [&](Layout a, Layout b) {
    return (op.from == a && op.to == b) || (op.from == b && op.to == a);
  };
  if (between(Layout::weight_io16, Layout::weight_oi16))
    return weight_squares<16>(stored_elements(op.from, shape));
  if (between(Layout::weight_io8, Layout::weight_oi8))
    return weight_squares<8>(stored_elements(op.from, shape));
  if (op.from == Layout::plain && op.to == Layout::transposed)
    return transposed(shape[0], shape[1]);
  if (op.from == Layout::transposed && op.to == Layout::plain)
    return transposed(shape[1], shape[0]);
  for (std::int64_t block : {8, 16}) {
    Layout blocked = block == 8 ? Layout::blocked8 : Layout::blocked16;
    if (op.from == blocked && op.to == Layout::channels_last)
      return blocks_to_pixels(pixel_blocks(shape, block));
    if (op.from == Layout::channels_last && op.to == blocked)
      return pixels_to_blocks(pixel_blocks(shape, block));
  }
  return std::nullopt;
}

}  // namespace troika
