#include "kernels/reference/reference.h"

namespace troika {
namespace linear_reference {

enum Slots { kX, kWeight, kY };

/// c[m,n] = sum over k of a(m,k) * b(k,n), each given by its strides.
struct Matrix {
  std::int64_t row, column;
};

template <class T>
void multiply(std::span<const T> a, Matrix at_a, std::span<const T> b, Matrix at_b, std::span<T> c,
              std::int64_t m, std::int64_t k, std::int64_t n) {
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      T sum = 0;
      for (std::int64_t step = 0; step < k; ++step)
        sum += a[row * at_a.row + step * at_a.column] * b[step * at_b.row + column * at_b.column];
      c[row * n + column] = sum;
    }
  }
}

template <class T>
void run(const Arguments& a) {
  // The weight of an input projection has several dimensions before the last.
  std::int64_t in = a.shape(kWeight).back(), out = a.shape(kWeight).elements() / in,
               rows = a.shape(kX).elements() / in;
  // x is [rows, in], the weight [out, in] and y [rows, out]. A transposed factor is the same memory
  // with its strides exchanged.
  if (a.phase() == Phase::forward)
    multiply<T>(a.value<const T>(kX), {in, 1}, a.value<const T>(kWeight), {1, in}, a.value<T>(kY),
                rows, in, out);
  else if (a.phase() == Phase::backward_data)
    multiply<T>(a.gradient<const T>(kY), {out, 1}, a.value<const T>(kWeight), {in, 1},
                a.gradient<T>(kX), rows, out, in);
  else
    multiply<T>(a.gradient<const T>(kY), {1, out}, a.value<const T>(kX), {in, 1},
                a.gradient<T>(kWeight), out, rows, in);
}

}  // namespace linear_reference

void run_reference(const Linear&, const Arguments& a) {
  using namespace linear_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(a); });
}

}  // namespace troika
