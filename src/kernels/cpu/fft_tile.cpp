// Transforms of square tiles of real numbers: along rows, then along columns, and back. Symmetry
// halves the work: two real lines are transformed as one complex line, and of the spectrum of a
// real line only one half is kept.
#include "kernels/cpu/fft_line.h"
#include "kernels/cpu/fft_plan.h"

namespace troika {
namespace {

/// One tile, real along both sides. Between its two steps, column c of the row spectra is kept for
/// 0 < c < Side / 2, and column 0 has the real numbers of columns 0 and Side / 2 as its two parts.
/// The points of a spectrum are those columns one after another, then column 0 and column Side / 2
/// up to the middle.
template <int Side, int Lanes>
class Tile {
  using C = ComplexVector<Lanes>;
  static constexpr int kHalf = Side / 2;

 public:
  explicit Tile(const FftTile& tile) : tile_(tile) {}

  /// Two rows at a time. Rows beyond from.rows.end are zero and are not stored: the column step is
  /// told how many rows there are, rounded up to whole pairs.
  TROIKA_INLINE void transform(const TileView& from) {
    for (int row = 0; row < from.rows.end; row += 2) transform_rows(from, row);
    int rows = static_cast<int>(from.rows.end + 1) & ~1;
    for (int column = 1; column < kHalf; ++column) {
      transform_line<Side, Lanes>(
          rows, [&](int n, C& z) { load(z, between(column, n)); },
          [&](int k, const C& z) { store(z, point((column - 1) * Side + k)); });
    }
    // Columns 0 and Side / 2 are real, so they share one complex line. The row step has doubled the
    // other columns, store_separate doubles these two: the factor is 2 everywhere.
    C line[Side];
    transform_line<Side, Lanes>(
        rows, [&](int n, C& z) { load(z, between(0, n)); },
        [&](int k, const C& z) { line[k] = z; });
    for (int k = 0; k <= kHalf; ++k)
      store_separate(line[k], line[(Side - k) % Side], edge(0, k), edge(1, k));
  }

  /// The same steps in reverse. The inverse transform is the forward one with real and imaginary
  /// parts exchanged on both sides (transform_line), hence the swapped loads and stores.
  TROIKA_INLINE void restore(const TileView& to, float scale, const float* bias) {
    for (int column = 1; column < kHalf; ++column) {
      transform_line<Side, Lanes>(
          Side, [&](int n, C& z) { load_swapped(z, point((column - 1) * Side + n)); },
          [&](int k, const C& z) { store_swapped(z, between(column, k)); });
    }
    C line[Side];
    for (int k = 0; k <= kHalf; ++k) load_joined(edge(0, k), edge(1, k), line, k);
    transform_line<Side, Lanes>(
        Side,
        [&](int n, C& z) {
          z = C{line[n].im, line[n].re};
        },
        [&](int k, const C& z) { store_swapped(z, between(0, k)); });
    for (int row = 0; row < to.rows.end; row += 2) restore_rows(to, row, scale, bias);
  }

 private:
  /// Columns are Side + 1 numbers apart, an odd number, so that the numbers of a row, which are
  /// written together, do not share one cache set.
  float* between(int column, int row) const {
    return tile_.work + (column * (Side + 1) + row) * 2 * Lanes;
  }
  float* point(int at) const { return tile_.spectrum + at * tile_.point; }
  float* edge(int which, int k) const {
    return point((kHalf - 1) * Side + which * (kHalf + 1) + k);
  }

  static TROIKA_INLINE void load_swapped(C& z, const float* from) {
    load(z.im, from), load(z.re, from + Lanes);
  }
  static TROIKA_INLINE void store_swapped(const C& z, float* to) {
    store(z.im, to), store(z.re, to + Lanes);
  }

  /// Two real lines are transformed as one complex line. Its numbers at k and -k give twice those
  /// of the two lines at k.
  static TROIKA_INLINE void store_separate(const C& at, const C& mirrored, float* first,
                                           float* second) {
    store(C{at.re + mirrored.re, at.im - mirrored.im}, first);
    store(C{at.im + mirrored.im, mirrored.re - at.re}, second);
  }
  /// The inverse of store_separate, without the factor.
  static TROIKA_INLINE void load_joined(const float* first, const float* second, C (&line)[Side],
                                        int k) {
    C a, b;
    load(a, first), load(b, second);
    line[(Side - k) % Side] = {a.re + b.im, b.re - a.im};
    line[k] = {a.re - b.im, a.im + b.re};
  }

  /// Either row may lie outside the view; it is then zero, as transform_line clears what is not
  /// loaded.
  TROIKA_INLINE void transform_rows(const TileView& from, int row) {
    C line[Side];
    const float* first = from.first + row * from.row;
    bool has_first = row >= from.rows.begin && row < from.rows.end,
         has_second = row + 1 >= from.rows.begin && row + 1 < from.rows.end;
    transform_line<Side, Lanes>(
        static_cast<int>(from.columns.end),
        [&](int n, C& z) {
          if (n < from.columns.begin) return;
          if (has_first) load(z.re, first + n * from.column);
          if (has_second) load(z.im, first + from.row + n * from.column);
        },
        [&](int k, const C& z) { line[k] = z; });
    store(C{line[0].re, line[kHalf].re}, between(0, row));
    store(C{line[0].im, line[kHalf].im}, between(0, row + 1));
    for (int k = 1; k < kHalf; ++k)
      store_separate(line[k], line[Side - k], between(k, row), between(k, row + 1));
  }

  /// Rows and columns of the view begin at 0: results that wrapped around are at the end of a tile.
  TROIKA_INLINE void restore_rows(const TileView& to, int row, float scale, const float* bias) {
    C line[Side], a, b;
    load(a, between(0, row)), load(b, between(0, row + 1));
    line[0] = {a.re, b.re};
    line[kHalf] = {a.im, b.im};
    for (int k = 1; k < kHalf; ++k) load_joined(between(k, row), between(k, row + 1), line, k);
    Vector<Lanes> added = {};
    if (bias != nullptr) load(added, bias);
    float* first = to.first + row * to.row;
    bool has_second = row + 1 < to.rows.end;
    // Loads and stores are swapped here too, so z.im is the first row and z.re the second.
    transform_line<Side, Lanes>(
        Side,
        [&](int n, C& z) {
          z = C{line[n].im, line[n].re};
        },
        [&](int k, const C& z) {
          if (k >= to.columns.end) return;
          store(scale * z.im + added, first + k * to.column);
          if (has_second) store(scale * z.re + added, first + to.row + k * to.column);
        });
  }

  const FftTile tile_;
};

template <int Side>
struct TileSide {};

template <class F>
void for_side(const FftTile& tile, const F& f) {
  if (tile.side == 16) return f(TileSide<16>{});
  if (tile.side == 32) return f(TileSide<32>{});
  f(TileSide<64>{});
}

}  // namespace

void transform_tile(const FftTile& tile, const TileView& from) {
  for_side(tile, [&]<int Side>(TileSide<Side>) {
    dispatch_lanes(tile.lanes, [&]<int Lanes>(std::integral_constant<int, Lanes>) {
      TileView view = from;  // a copy cannot alias what is written
      Tile<Side, Lanes>(tile).transform(view);
    });
  });
}

void restore_tile(const FftTile& tile, const TileView& to, float scale, const float* bias) {
  for_side(tile, [&]<int Side>(TileSide<Side>) {
    dispatch_lanes(tile.lanes, [&, scale, bias]<int Lanes>(std::integral_constant<int, Lanes>) {
      TileView view = to;  // a copy cannot alias what is written
      Tile<Side, Lanes>(tile).restore(view, scale, bias);
    });
  });
}

}  // namespace troika
