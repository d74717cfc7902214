// Offers: the candidates of a key, each with the function that makes its kernel. Every operator has
// an overload of offers() in the file named after it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/dnnl_api.h"
#include "kernels/kernel.h"
#include "ops/op.h"

namespace troika {

struct CpuContext {
  dnnl::engine engine;
  int threads = 1;
  bool winograd = true;
};

/// A key with its signature, phase and operands.
struct Request {
  Request(const KernelKey& asked, const CpuContext& where)
      : key(asked),
        context(where),
        signature(troika::signature(asked.op, asked.inputs)),
        phase(signature.at(asked.phase)),
        operands(operands_of(asked)) {}

  const TensorSpec& spec(std::size_t operand) const { return operands[operand].spec; }
  const Shape& shape(std::size_t operand) const { return spec(operand).shape; }

  const KernelKey& key;
  const CpuContext& context;
  Signature signature;
  const PhaseSpec& phase;
  std::vector<Operand> operands;
};

/// A candidate together with the function that makes its kernel.
struct Offer {
  Candidate candidate;
  /// `chosen` is the candidate with the layouts that were chosen for it if it is flat.
  std::function<std::unique_ptr<Kernel>(const Candidate& chosen)> make;
};
using Offers = std::vector<Offer>;

/// The arguments of one launch of a loop kernel.
struct Launch {
  std::span<const DevicePointer> operands;
  DevicePointer scratch;
  int threads;
  std::span<const std::int64_t> position{};  ///< Of the key's operator, then of those fused to it.

  template <class T = float>
  T* at(std::size_t operand) const {
    return reinterpret_cast<T*>(operands[operand]);
  }
  template <class T = float>
  T* work() const {
    return reinterpret_cast<T*>(scratch);
  }
};

using Loop = std::function<void(const Launch&)>;

/// A candidate that is one of our loops.
Offer offer_loop(const Request& request, Candidate candidate, Loop loop);

/// A flat candidate. `loop_for` makes the loop for a number of elements: those of the first operand
/// with its padding.
Offer offer_flat(const Request& request, std::vector<InPlace> in_place,
                 std::function<Loop(std::int64_t)> loop_for);

/// An operand that is passed as an argument of a primitive.
struct Bound {
  int argument;
  std::size_t operand;
  MemoryDesc desc;
};

/// A candidate that is one oneDNN primitive. Fills in its scratch.
Offer offer_primitive(const Request& request, Candidate candidate,
                      const Implementation& implementation, std::vector<Bound> bounds);

/// A primitive as a part of a larger kernel.
std::unique_ptr<Kernel> make_primitive(const CpuContext& context,
                                       const Implementation& implementation,
                                       std::span<const Bound> bounds);

/// Plain, and for rank 4 the channel layouts.
std::vector<Layout> activation_layouts(const Shape& shape);
/// Plain, and every layout that a weight of this shape may be stored in.
std::vector<Layout> parameter_layouts(const Shape& shape);
/// Both of the above, each once.
std::vector<Layout> all_layouts(const Shape& shape);

// The expected best first; an empty list declines. An operator without an overload is computed by
// the reference loops.
Offers offers(const Accuracy& op, const Request& request);
Offers offers(const Activation& op, const Request& request);
Offers offers(const Adam& op, const Request& request);
Offers offers(const Attention& op, const Request& request);
Offers offers(const BatchNorm& op, const Request& request);
Offers offers(const Bias& op, const Request& request);
Offers offers(const Binary& op, const Request& request);
Offers offers(const Concat& op, const Request& request);
Offers offers(const Conv2d& op, const Request& request);
Offers offers(const ConvTranspose2d& op, const Request& request);
Offers offers(const CrossEntropy& op, const Request& request);
Offers offers(const Dropout& op, const Request& request);
Offers offers(const Embedding& op, const Request& request);
Offers offers(const GateProjection& op, const Request& request);
Offers offers(const GlobalPool& op, const Request& request);
Offers offers(const Guard& op, const Request& request);
Offers offers(const Lamb& op, const Request& request);
Offers offers(const Lars& op, const Request& request);
Offers offers(const LayerNorm& op, const Request& request);
Offers offers(const Linear& op, const Request& request);
Offers offers(const LocalResponseNorm& op, const Request& request);
Offers offers(const Matmul& op, const Request& request);
Offers offers(const Mean& op, const Request& request);
Offers offers(const MeanError& op, const Request& request);
Offers offers(const Pool2d& op, const Request& request);
Offers offers(const Position& op, const Request& request);
Offers offers(const Recurrent& op, const Request& request);
Offers offers(const Reorder& op, const Request& request);
Offers offers(const RunningAverage& op, const Request& request);
Offers offers(const Sgd& op, const Request& request);
Offers offers(const SigmoidCrossEntropy& op, const Request& request);
Offers offers(const SliceTensor& op, const Request& request);
Offers offers(const Softmax& op, const Request& request);
Offers offers(const SplitTensor& op, const Request& request);
Offers offers(const SquareSum& op, const Request& request);
Offers offers(const Sum& op, const Request& request);
Offers offers(const Assemble& op, const Request& request);
Offers offers(const Transpose& op, const Request& request);

/// For phases that only change the shape (PhaseSpec::view) if the result needs its own buffer.
Offers copy_offers(const Request& request);

}  // namespace troika
