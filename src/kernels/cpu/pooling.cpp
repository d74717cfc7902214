#include "kernels/cpu/pooling.h"

#include <algorithm>

#include "kernels/cpu/loops.h"

namespace troika {
namespace {

constexpr std::int64_t kTile = 16;

/// Up to 16 lanes of one image: where they begin, and how far apart two pixels of x and of y lie.
struct Tile {
  std::int64_t x, y, x_step, y_step, lanes;
};

/// One after another: images, blocks of channels, tiles of lanes.
class Tiles {
 public:
  explicit Tiles(const Pooling& p) : p_(p), per_block_((p.x.lanes + kTile - 1) / kTile) {}

  std::int64_t count() const { return p_.x.outer * p_.x.blocks * per_block_; }
  Tile at(std::int64_t tile) const {
    std::int64_t lane = tile % per_block_ * kTile, run = tile / per_block_;
    std::int64_t channel = run % p_.x.blocks * p_.x.lanes + lane, image = run / p_.x.blocks;
    std::int64_t y_run = image * p_.y.blocks + channel / p_.y.lanes;
    // Where y is not padded and x is, the last lanes have no place in y.
    std::int64_t lanes = std::min({kTile, p_.x.lanes - lane, p_.y.padded() - channel});
    return {run * p_.x.inner * p_.x.lanes + lane,
            y_run * p_.y.inner * p_.y.lanes + channel % p_.y.lanes, p_.x.lanes, p_.y.lanes, lanes};
  }

 private:
  const Pooling& p_;
  std::int64_t per_block_;
};

/// What one place of the window sees along a dimension.
struct Seen {
  std::int64_t begin, end;
};

inline Seen seen(const Pooling& p, std::size_t dim, std::int64_t place) {
  std::int64_t begin = place * p.stride[dim] - p.pad[dim], end = begin + p.window[dim];
  return {begin < 0 ? 0 : begin, end > p.in[dim] ? p.in[dim] : end};
}

inline float divisor(const Pooling& p, Seen rows, Seen columns) {
  std::int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
  return static_cast<float>(p.include_padding ? p.window[0] * p.window[1] : count);
}

/// Lanes is the tile's, or 0 when it is not known here.
template <int Lanes, bool Max>
TROIKA_VECTORIZED void forward_tile(const Pooling& p, const Tile& tile, const float* x, float* y) {
  std::int64_t lanes = Lanes > 0 ? Lanes : tile.lanes;
  for (std::int64_t h = 0; h < p.out[0]; ++h) {
    for (std::int64_t w = 0; w < p.out[1]; ++w) {
      Seen rows = seen(p, 0, h), columns = seen(p, 1, w);
      float kept[kTile] = {};
      const float* corner = x + tile.x + (rows.begin * p.in[1] + columns.begin) * tile.x_step;
      for (std::int64_t lane = 0; Max && lane < lanes; ++lane) kept[lane] = corner[lane];
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (std::int64_t column = columns.begin; column < columns.end; ++column) {
          const float* from = x + tile.x + (row * p.in[1] + column) * tile.x_step;
#pragma omp simd
          for (std::int64_t lane = 0; lane < lanes; ++lane)
            kept[lane] =
                Max ? (from[lane] > kept[lane] ? from[lane] : kept[lane]) : kept[lane] + from[lane];
        }
      }
      float *to = y + tile.y + (h * p.out[1] + w) * tile.y_step,
            factor = Max ? 1.0f : 1.0f / divisor(p, rows, columns);
#pragma omp simd
      for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = kept[lane] * factor;
    }
  }
}

template <int Lanes>
TROIKA_VECTORIZED void clear_tile(const Pooling& p, const Tile& tile, float* dx) {
  std::int64_t lanes = Lanes > 0 ? Lanes : tile.lanes;
  for (std::int64_t pixel = 0; pixel < p.in[0] * p.in[1]; ++pixel) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < lanes; ++lane) dx[tile.x + pixel * tile.x_step + lane] = 0;
  }
}

template <int Lanes>
TROIKA_VECTORIZED void average_backward_tile(const Pooling& p, const Tile& tile, const float* dy,
                                             float* dx) {
  std::int64_t lanes = Lanes > 0 ? Lanes : tile.lanes;
  for (std::int64_t h = 0; h < p.out[0]; ++h) {
    for (std::int64_t w = 0; w < p.out[1]; ++w) {
      Seen rows = seen(p, 0, h), columns = seen(p, 1, w);
      const float* from = dy + tile.y + (h * p.out[1] + w) * tile.y_step;
      float factor = 1.0f / divisor(p, rows, columns);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (std::int64_t column = columns.begin; column < columns.end; ++column) {
          float* to = dx + tile.x + (row * p.in[1] + column) * tile.x_step;
#pragma omp simd
          for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] += from[lane] * factor;
        }
      }
    }
  }
}

/// First the place of the first largest element of each lane, then dy added there.
template <int Lanes>
TROIKA_VECTORIZED void max_backward_tile(const Pooling& p, const Tile& tile, const float* x,
                                         const float* dy, float* dx) {
  std::int64_t lanes = Lanes > 0 ? Lanes : tile.lanes;
  for (std::int64_t h = 0; h < p.out[0]; ++h) {
    for (std::int64_t w = 0; w < p.out[1]; ++w) {
      Seen rows = seen(p, 0, h), columns = seen(p, 1, w);
      float largest[kTile] = {};
      std::int32_t place[kTile] = {}, at = 0;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (std::int64_t column = columns.begin; column < columns.end; ++column, ++at) {
          const float* from = x + tile.x + (row * p.in[1] + column) * tile.x_step;
#pragma omp simd
          for (std::int64_t lane = 0; lane < lanes; ++lane) {
            bool larger = at == 0 || from[lane] > largest[lane];
            place[lane] = larger ? at : place[lane];
            largest[lane] = larger ? from[lane] : largest[lane];
          }
        }
      }
      const float* from = dy + tile.y + (h * p.out[1] + w) * tile.y_step;
      at = 0;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (std::int64_t column = columns.begin; column < columns.end; ++column, ++at) {
          float* to = dx + tile.x + (row * p.in[1] + column) * tile.x_step;
#pragma omp simd
          for (std::int64_t lane = 0; lane < lanes; ++lane)
            to[lane] += place[lane] == at ? from[lane] : 0.0f;
        }
      }
    }
  }
}

/// Calls f with the number of lanes as a constant where it is a usual one.
template <class F>
void for_tiles(int threads, const Pooling& p, const F& f) {
  Tiles tiles(p);
  std::int64_t work = p.in[0] * p.in[1] * std::min(p.x.lanes, kTile);
  for_rows(threads, tiles.count(), work, [&](std::int64_t number) {
    Tile tile = tiles.at(number);
    if (tile.lanes == 16)
      f.template operator()<16>(tile);
    else if (tile.lanes == 8)
      f.template operator()<8>(tile);
    else if (tile.lanes == 1)
      f.template operator()<1>(tile);
    else
      f.template operator()<0>(tile);
  });
}

}  // namespace

Loop pooling_forward(const Pooling& p) {
  return [p](const Launch& launch) {
    const float* x = launch.at(0);
    float* y = launch.at(1);
    for_tiles(launch.threads, p, [&]<int Lanes>(const Tile& tile) {
      p.kind == PoolKind::max ? forward_tile<Lanes, true>(p, tile, x, y)
                              : forward_tile<Lanes, false>(p, tile, x, y);
    });
  };
}

Loop pooling_backward(const Pooling& p) {
  return [p](const Launch& launch) {
    bool max = p.kind == PoolKind::max;
    const float *x = max ? launch.at(0) : nullptr, *dy = launch.at(max ? 1 : 0);
    float* dx = launch.at(max ? 2 : 1);
    for_tiles(launch.threads, p, [&]<int Lanes>(const Tile& tile) {
      clear_tile<Lanes>(p, tile, dx);
      max ? max_backward_tile<Lanes>(p, tile, x, dy, dx)
          : average_backward_tile<Lanes>(p, tile, dy, dx);
    });
  };
}

}  // namespace troika
