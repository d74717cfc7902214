#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/reference.h"

namespace troika {
namespace {

/// Rows of one head of one sample inside [n, t, heads*d] or the packed tensor.
template <class T>
struct Rows {
  T* first;
  std::int64_t stride;
  T* operator[](std::int64_t row) const { return first + row * stride; }
};

template <class T>
T dot(const T* a, const T* b, std::int64_t count) {
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
void add_scaled(T* to, T factor, const T* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

/// One query of one head at a time; no matrix of scores is stored. Tensors are [n, t, heads*d], so
/// consecutive rows of a head are a whole row of the tensor apart.
template <class T>
struct AttentionRun {
  const Attention& op;
  const Arguments& a;
  AttentionSlots at{op};
  std::int64_t samples = a.shape(at.y)[0], queries = a.shape(at.y)[1], keys = a.shape(at.k)[1];
  std::int64_t width = a.shape(at.y)[2] / op.heads;
  T scale = 1 / std::sqrt(static_cast<T>(width));
  std::int64_t first = first_query(op, a.position);

  /// `part`: 0 for q, 1 for k, 2 for v.
  template <class U>
  Rows<U> rows(std::span<U> all, int slot, int part, std::int64_t n, std::int64_t h) const {
    std::int64_t stride = a.shape(slot)[2], per_head = stride / op.heads;
    bool packed = op.packed && slot != at.y;
    // Only q is indexed from the first query of the tile; k and v from the start of the sequence.
    std::int64_t skipped = packed && part == 0 ? first : 0;
    // Packed, a head holds q, k and v of `width` elements each, one behind the other.
    std::int64_t offset =
        (n * a.shape(slot)[1] + skipped) * stride + h * per_head + (packed ? part * width : 0);
    return {all.data() + offset, stride};
  }
  Rows<const T> value(int slot, int part, std::int64_t n, std::int64_t h) const {
    return rows(a.value<const T>(slot), slot, part, n, h);
  }
  Rows<T> gradient(int slot, int part, std::int64_t n, std::int64_t h) const {
    return rows(a.gradient<T>(slot), slot, part, n, h);
  }

  bool visible(std::int64_t n, std::int64_t query, std::int64_t key) const {
    if (op.causal && key > first + query) return false;
    return !op.has_mask || a.value<const T>(at.mask)[n * keys + key] != 0;
  }

  void for_each_query(auto&& visit) const {
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t h = 0; h < op.heads; ++h) {
        for (std::int64_t i = 0; i < queries; ++i) visit(n, h, i);
      }
    }
  }

  void forward_row(std::int64_t n, std::int64_t h, std::int64_t i) const {
    auto q = value(at.q, 0, n, h), k = value(at.k, 1, n, h), v = value(at.v, 2, n, h);
    T* y = rows(a.value<T>(at.y), at.y, 0, n, h)[i];
    std::fill_n(y, width, T{0});
    // The largest score is subtracted before exp, which then cannot overflow. Scores are computed
    // twice instead of being stored.
    T largest = -std::numeric_limits<T>::infinity(), sum = 0;
    auto score = [&](std::int64_t j) { return scale * dot(q[i], k[j], width); };
    for (std::int64_t j = 0; j < keys; ++j) {
      if (visible(n, i, j)) largest = std::max(largest, score(j));
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      if (!visible(n, i, j)) continue;
      T p = std::exp(score(j) - largest);
      sum += p;
      add_scaled(y, p, v[j], width);
    }
    // A query that sees no key keeps y = 0, and a log_sum that backward never uses.
    for (std::int64_t c = 0; sum > 0 && c < width; ++c) y[c] /= sum;
    a.value<T>(at.log_sum)[(n * op.heads + h) * queries + i] =
        sum > 0 ? largest + std::log(sum) : T{0};
  }

  /// With p = exp(s - log_sum) and dp = dy v^T: ds = p * (dp - sum of y * dy).
  void backward_row(std::int64_t n, std::int64_t h, std::int64_t i) const {
    auto q = value(at.q, 0, n, h), k = value(at.k, 1, n, h), v = value(at.v, 2, n, h);
    auto dq = gradient(at.q, 0, n, h), dk = gradient(at.k, 1, n, h), dv = gradient(at.v, 2, n, h);
    const T* y = value(at.y, 0, n, h)[i];
    const T* dy = rows(a.gradient<const T>(at.y), at.y, 0, n, h)[i];
    T log_sum = a.value<const T>(at.log_sum)[(n * op.heads + h) * queries + i],
      y_dy = dot(y, dy, width);
    for (std::int64_t j = 0; j < keys; ++j) {
      if (!visible(n, i, j)) continue;
      T p = std::exp(scale * dot(q[i], k[j], width) - log_sum);
      // The factor `scale` takes ds from the score to the product q k.
      T ds = scale * p * (dot(dy, v[j], width) - y_dy);
      add_scaled(dq[i], ds, k[j], width);
      add_scaled(dk[j], ds, q[i], width);
      add_scaled(dv[j], p, dy, width);
    }
  }

  void backward() const {
    // Cleared, because the rows of k and v, and of qkv outside the tile's queries, only get
    // additions.
    for (int slot = 0; slot <= at.v; ++slot) std::ranges::fill(a.gradient<T>(slot), T{0});
    for_each_query([&](auto n, auto h, auto i) { backward_row(n, h, i); });
  }
};

}  // namespace

void run_reference(const Attention& op, const Arguments& a) {
  dispatch(a.spec(0).dtype, [&]<class T>() {
    AttentionRun<T> run{op, a};
    if (a.phase() == Phase::backward) return run.backward();
    run.for_each_query([&](auto n, auto h, auto i) { run.forward_row(n, h, i); });
  });
}

}  // namespace troika
