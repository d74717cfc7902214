// Complex matrix products of spectra at one frequency point, on one thread.
#pragma once

#include "kernels/cpu/fft_plan.h"

namespace troika {

/// c = a * conj(b) or c += a * conj(b), in the rows and blocks of Spectra. The columns of b and c
/// are `blocks` blocks. As it lies, a has a row per row of c and the depth along its blocks;
/// turned, it has a row per step of the depth.
struct SpectrumProduct {
  int lanes;
  bool turned = false;
  bool adds = false;
  std::int64_t rows, depth, blocks;
  const float* a;
  std::int64_t a_row;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
};

/// Turned, `rows` is a multiple of the lanes.
void multiply(const SpectrumProduct& product);

}  // namespace troika
