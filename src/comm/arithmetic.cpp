#include "comm/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/streaming.h"
#include "base/vectorized.h"
#include "tensor/float16.h"

namespace troika {
namespace {

template <class T>
constexpr bool is_short = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// The type in which elements of type T are combined.
template <class T>
using Wide = std::conditional_t<is_short<T>, float, T>;

struct Sum {
  template <class W>
  W operator()(W a, W b) const {
    if constexpr (std::is_integral_v<W>) {
      // Unsigned, because an overflow of signed integers is undefined.
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};
template <class W>
bool is_negative(W value) {
  if constexpr (std::is_integral_v<W>) {
    return value < 0;
  } else {
    return std::signbit(value);
  }
}
// Symmetric also for NaN and the two zeros: members that combine a and b in either order get the
// same bits (of two NaN the first, whose bits may differ).
struct Min {
  template <class W>
  W operator()(W a, W b) const {
    return b < a || b != b || (b == a && is_negative(b)) ? b : a;
  }
};
struct Max {
  template <class W>
  W operator()(W a, W b) const {
    return b > a || b != b || (b == a && !is_negative(b)) ? b : a;
  }
};

/// A multiplication per element is cheaper than a division, and gives the same bits if the divisor
/// is a power of two.
template <class W>
W quotient(W value, int divisor, W reciprocal) {
  if constexpr (std::is_integral_v<W>) {
    return value / divisor;
  } else {
    return value * reciprocal;
  }
}

template <class W>
W reciprocal_of(int divisor) {
  return std::is_integral_v<W> ? W{} : W{1} / static_cast<W>(divisor);
}

template <class T>
T* typed(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);
}
template <class T>
const T* typed(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}

/// to = to combined with from; the two do not overlap.
template <class T, class Rule>
TROIKA_VECTORIZED void combine(std::byte* to, const std::byte* from, std::int64_t count) {
  T* __restrict a = typed<T>(to);
  const T* __restrict b = typed<T>(from);
  for (std::int64_t i = 0; i < count; ++i) {
    a[i] = static_cast<T>(Rule{}(static_cast<Wide<T>>(a[i]), static_cast<Wide<T>>(b[i])));
  }
}

template <class T>
TROIKA_VECTORIZED void divide(std::byte* values, std::int64_t count, int divisor) {
  T* a = typed<T>(values);
  auto reciprocal = reciprocal_of<Wide<T>>(divisor);
  for (std::int64_t i = 0; i < count; ++i)
    a[i] = static_cast<T>(quotient<Wide<T>>(static_cast<Wide<T>>(a[i]), divisor, reciprocal));
}

/// The common case, two vectors in the caches, in one pass and without the block buffers.
template <class T, class Rule>
TROIKA_VECTORIZED void combine_two(std::byte* first, std::byte* second, std::int64_t count) {
  T* __restrict a = typed<T>(first);
  T* __restrict b = typed<T>(second);
  for (std::int64_t i = 0; i < count; ++i) {
    T result = static_cast<T>(Rule{}(static_cast<Wide<T>>(a[i]), static_cast<Wide<T>>(b[i])));
    a[i] = result;
    b[i] = result;
  }
}

/// Elements combined at a time: sums and results of f64 take 16 KiB, half a first-level cache.
constexpr std::int64_t kBlock = 1024;

/// sums = the elements [begin, begin + count) of all vectors, combined in their order.
template <class T, class Rule>
TROIKA_VECTORIZED void combine_block(std::span<std::byte* const> vectors, std::int64_t begin,
                                     std::int64_t count, Wide<T>* __restrict sums) {
  const T* first = typed<T>(vectors[0]) + begin;
  for (std::int64_t i = 0; i < count; ++i) sums[i] = static_cast<Wide<T>>(first[i]);
  for (std::size_t at = 1; at < vectors.size(); ++at) {
    const T* next = typed<T>(vectors[at]) + begin;
    for (std::int64_t i = 0; i < count; ++i)
      sums[i] = Rule{}(sums[i], static_cast<Wide<T>>(next[i]));
  }
}

template <class T>
TROIKA_VECTORIZED void round_block(const Wide<T>* __restrict sums, std::int64_t count, int divisor,
                                   T* __restrict results) {
  auto reciprocal = reciprocal_of<Wide<T>>(divisor);
  if (divisor == 1) {
    for (std::int64_t i = 0; i < count; ++i) results[i] = static_cast<T>(sums[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      results[i] = static_cast<T>(quotient<Wide<T>>(sums[i], divisor, reciprocal));
  }
}

/// A block is combined and rounded in the first-level cache, then written to all vectors, so each
/// vector is read once and written once.
template <class T, class Rule>
void combine_all(std::span<std::byte* const> vectors, std::int64_t count, int divisor,
                 bool streams) {
  if (vectors.size() == 2 && divisor == 1 && !streams)
    return combine_two<T, Rule>(vectors[0], vectors[1], count);
  alignas(64) Wide<T> sums[kBlock];
  alignas(64) T results[kBlock];
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    std::int64_t length = std::min(kBlock, count - begin);
    combine_block<T, Rule>(vectors, begin, length, sums);
    round_block<T>(sums, length, divisor, results);
    auto bytes = static_cast<std::size_t>(length) * sizeof(T);
    const auto* from = reinterpret_cast<const std::byte*>(results);
    for (std::byte* vector : vectors) {
      std::byte* to = vector + begin * static_cast<std::int64_t>(sizeof(T));
      if (streams) {
        stream_copy(to, from, bytes);
      } else {
        std::memcpy(to, from, bytes);
      }
    }
  }
  // Non-temporal stores are weakly ordered; the peers read them once the loan is given back.
  if (streams) stream_end();
}

template <class T>
TROIKA_VECTORIZED void widen(std::byte* wide, const std::byte* narrow, std::int64_t count) {
  float* __restrict to = typed<float>(wide);
  const T* __restrict from = typed<T>(narrow);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

/// The only rounding of a sum of 16-bit elements; a mean is divided before it.
template <class T>
void narrow(std::byte* narrow, const std::byte* wide, std::int64_t count, int divisor) {
  round_block<T>(typed<float>(wide), count, divisor, typed<T>(narrow));
}

template <class T, class Rule>
Arithmetic typed_arithmetic() {
  return {combine<T, Rule>, combine_all<T, Rule>, divide<T>};
}

template <class T>
Arithmetic arithmetic_of(CombineRule rule) {
  switch (rule) {
    case CombineRule::sum:
    case CombineRule::mean:
      return typed_arithmetic<T, Sum>();
    case CombineRule::min:
      return typed_arithmetic<T, Min>();
    case CombineRule::max:
      return typed_arithmetic<T, Max>();
  }
  throw Bug("unknown combine rule");
}

}  // namespace

Arithmetic arithmetic_of(DType dtype, CombineRule rule) {
  switch (dtype) {
    case DType::f32:
      return arithmetic_of<float>(rule);
    case DType::f64:
      return arithmetic_of<double>(rule);
    case DType::i32:
      return arithmetic_of<std::int32_t>(rule);
    case DType::f16:
      return arithmetic_of<Float16>(rule);
    case DType::bf16:
      return arithmetic_of<BFloat16>(rule);
  }
  throw Bug("unknown element type");
}

Widening widening_of(DType dtype) {
  if (dtype == DType::f16) return {widen<Float16>, narrow<Float16>};
  if (dtype == DType::bf16) return {widen<BFloat16>, narrow<BFloat16>};
  throw Bug("only 16-bit types are widened, not " + std::string(to_string(dtype)));
}

}  // namespace troika
