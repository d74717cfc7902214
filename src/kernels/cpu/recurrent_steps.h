// The steps of a recurrent layer: the row of x and y of a sample's k-th step, and the products that
// steps share.
#pragma once

#include "kernels/arguments.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/packed_product.h"
#include "ops/recurrent.h"

namespace troika {

/// A row-major matrix; as a factor it may be taken transposed.
struct Matrix {
  float* first;
  std::int64_t stride;
  bool turned = false;

  Matrix columns_from(std::int64_t column) const { return {first + column, stride, turned}; }
  Matrix transposed() const { return {first, stride, !turned}; }
};

/// The implementation of large matrix products, with its threads and scratch.
struct ProductTeam {
  int threads;
  int lanes = 0;          ///< Lanes of packed products; 0: products of oneDNN.
  float* work = nullptr;  ///< product_floats() floats.
};

/// c = a * b, with the extents after turning.
void set_product(const ProductExtent& extent, const Matrix& a, const Matrix& b, const Matrix& c,
                 const ProductTeam& team);
/// Floats of scratch that the largest of the products needs; `work` is not read.
std::int64_t product_floats(std::span<const ProductExtent> extents, const ProductTeam& team);

/// Where samples of one launch end: their lengths, null when all steps are valid, and the steps of
/// the sequence before the operator's first one.
struct SampleEnds {
  const std::int32_t* lengths;
  std::int64_t begin;
};

/// The implementation of a candidate.
struct RecurrentChoice {
  int lanes = 0;  ///< Of large products, as in ProductTeam.
  /// Of w_hh: plain, which is packed at each launch, or the panels that products read.
  Layout stored = Layout::plain;
};

struct RecurrentSteps {
  RecurrentSteps(const Recurrent& recurrent, const Request& request);

  /// Valid steps of sample n.
  std::int64_t length(const SampleEnds& ends, std::int64_t n) const;
  /// The row of x and y that a sample's k-th step has.
  std::int64_t row(const SampleEnds& ends, std::int64_t n, std::int64_t k) const;

  Arguments arguments(const Launch& launch) const {
    return {signature, signature.at(phase), launch.operands, launch.position};
  }
  /// The panels of U: those of the operand, or packed into `scratch`.
  const float* hidden_panels(const Arguments& a, const RecurrentChoice& choice, int threads,
                             float* scratch) const;
  /// Floats of that scratch.
  std::int64_t hidden_floats(const RecurrentChoice& choice) const;
  /// The panels that hidden_panels() gives, as a layout of w_hh.
  Layout packed_hidden() const;

  /// The first hidden unit of the tile.
  static std::int64_t first_unit(const Arguments& a) { return a.position[1]; }
  /// Null when the operator has no such slot.
  float* value(const Arguments& a, int slot) const {
    return slot < 0 ? nullptr : a.value<float>(slot).data();
  }
  float* gradient(const Arguments& a, int slot) const {
    return slot < 0 ? nullptr : a.gradient<float>(slot).data();
  }
  SampleEnds ends(const Arguments& a) const {
    return {at.lengths < 0 ? nullptr : a.value<std::int32_t>(at.lengths).data(), a.position[0]};
  }

  /// Row `row` of a tensor with `width` numbers each; null when there is no tensor.
  template <class T>
  static T* row_of(T* tensor, std::int64_t row, std::int64_t width) {
    return tensor == nullptr ? nullptr : tensor + row * width;
  }

  Recurrent op;
  RecurrentSlots at;
  Signature signature;
  Phase phase;
  std::int64_t samples, steps, inputs;
  std::int64_t hidden;  ///< Of the whole layer; other numbers are those of the tile's units.
  std::int64_t units;
  std::int64_t gates;  ///< Rows of the weights: all blocks together.
  std::int64_t saved;  ///< Numbers per step that forward saves, or would if it were not for y; also
                       ///< those of the bias.
};

Loop recurrent_backward(const RecurrentSteps& steps, const RecurrentChoice& choice);
Bytes recurrent_backward_scratch(const RecurrentSteps& steps, const RecurrentChoice& choice,
                                 int threads);

}  // namespace troika
