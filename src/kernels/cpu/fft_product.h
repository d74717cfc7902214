// Complex matrix products of spectra at one frequency point, on one thread.
#pragma once

#include "kernels/cpu/fft_plan.h"

namespace troika {

/// c = a * conj(b) or c += a * conj(b) at one point. As it lies, a has the rows of c, and along
/// them the depth; turned, it has the depth in its rows, and the rows of c along them, whole
/// vectors.
struct SpectrumProduct {
  bool turned = false;
  bool adds = false;
  std::int64_t rows, depth;
  std::int64_t blocks;  ///< Of the columns; there may be room for more.
  Spectra a_spectra, b_spectra, c_spectra;
  const float *a, *b;  ///< Of the first point, as c is.
  float* c;
};

void multiply(const SpectrumProduct& product, std::int64_t point);

}  // namespace troika
