// The closed list of operators. A new operator is one file pair and one line here; the compiler and
// the tests that iterate over this list report what is still missing.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "ops/accuracy.h"
#include "ops/activation.h"
#include "ops/adam.h"
#include "ops/assemble.h"
#include "ops/attention.h"
#include "ops/batch_norm.h"
#include "ops/bias.h"
#include "ops/binary.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/gate_projection.h"
#include "ops/global_pool.h"
#include "ops/guard.h"
#include "ops/lamb.h"
#include "ops/lars.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/local_response_norm.h"
#include "ops/matmul.h"
#include "ops/mean.h"
#include "ops/mean_error.h"
#include "ops/pool2d.h"
#include "ops/position.h"
#include "ops/recurrent.h"
#include "ops/reorder.h"
#include "ops/reshape.h"
#include "ops/running_average.h"
#include "ops/sgd.h"
#include "ops/sigmoid_cross_entropy.h"
#include "ops/slice_tensor.h"
#include "ops/softmax.h"
#include "ops/split_tensor.h"
#include "ops/sum.h"
#include "ops/transpose.h"

namespace troika {

using AnyOp = std::variant<  //
    Linear, Bias, Position, Activation, Binary, CrossEntropy,
    // windows, norms and products
    Conv2d, Pool2d, GlobalPool, BatchNorm, LayerNorm, Matmul, ConvTranspose2d, LocalResponseNorm,
    // shape
    Reshape, Transpose, Concat, SliceTensor, SplitTensor, Mean,
    // sequences
    Softmax, Embedding, Dropout, Attention, Recurrent, GateProjection,
    // losses
    SigmoidCrossEntropy, MeanError, Accuracy,
    // update rules and the end of a step
    Sgd, Adam, Lars, Lamb, RunningAverage, Guard, SquareSum,
    // inserted by lowering
    Sum, Reorder, Assemble>;

template <class T, class Variant>
inline constexpr bool kIsOneOf = false;
template <class T, class... Types>
inline constexpr bool kIsOneOf<T, std::variant<Types...>> = (std::is_same_v<T, Types> || ...);

/// One operator. Copying, destroying and comparing are compiled once, in op.cpp: with so many types
/// they would cost seconds of compile time in each file that copies an operator.
class Op : public AnyOp {
 public:
  Op();
  template <class T>
  requires kIsOneOf<T, AnyOp> Op(T op)  // NOLINT(google-explicit-constructor): as a variant does
      : AnyOp(std::in_place_type<T>, std::move(op)) {}
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();

  friend bool operator==(const Op& a, const Op& b);
};

std::string_view name_of(const Op& op);
/// Returns shapes, axes and phases for these inputs. Throws Error(usage) if the inputs do not fit.
Signature signature(const Op& op, std::span<const TensorSpec> inputs);

/// Returns the operator that one tile computes. Its signature for the tile's input regions has
/// exactly the shapes that region_of gives.
Op localize(const Op& op, const Signature& signature, const Region& tile);

/// Returns where a tile lies, as far as its kernel must know: launch arguments, which are not part
/// of the localized operator, so that equal tiles at different places share one kernel. The
/// operator's tile_position() says what the numbers mean; their count is the same for all tiles.
/// Empty for most operators.
std::vector<std::int64_t> position_of(const Op& op, const Signature& signature, const Region& tile);

/// Adds an operator to a hash; equal operators add the same. Not stable between versions.
std::uint64_t mix(std::uint64_t hash, const Op& op);

/// Whether the operator that a tile computes depends on where the tile begins along an axis, and
/// not only on its extent and on what is padded: causal attention, whose later queries see more
/// keys.
bool depends_on_begin(const Op& op, const Axis& axis);

/// "conv2d{out=64,kernel=[3,3]}" and its inverse, which throws Error(file) if the text is not an
/// operator.
std::string to_text(const Op& op);
Op parse_op(std::string_view text);

}  // namespace troika
