// How an operator answers a key: an ordered list of candidates, each with the way to make its
// kernel.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/dnnl_api.h"
#include "kernels/kernel.h"

namespace troika {

struct CpuContext {
  dnnl::engine engine;
  int threads = 1;
  bool winograd = true;
};

/// A key and what follows from it.
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

struct Offer {
  Candidate candidate;
  /// Takes the candidate as chosen: of a flat one the layout is known only then.
  std::function<std::unique_ptr<Kernel>(const Candidate& chosen)> make;
};
using Offers = std::vector<Offer>;

/// What one launch of a loop kernel works on.
struct Launch {
  std::span<const DevicePointer> operands;
  DevicePointer scratch;
  int threads;

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

/// A candidate made of loops of our own.
Offer offer_loop(const Request& request, Candidate candidate, Loop loop);

/// The flat candidate: `loop_for` makes the loop over so many elements, those of the first operand
/// with its padding.
Offer offer_flat(const Request& request, std::vector<InPlace> in_place,
                 std::function<Loop(std::int64_t)> loop_for);

/// Which operand is passed as which argument of a primitive.
struct Bound {
  int argument;
  std::size_t operand;
  MemoryDesc desc;
};

/// A candidate that is one oneDNN primitive; scratch is filled in.
Offer offer_primitive(const Request& request, Candidate candidate,
                      const Implementation& implementation, std::vector<Bound> bounds);

/// The primitive as a part of a larger kernel.
std::unique_ptr<Kernel> make_primitive(const CpuContext& context,
                                       const Implementation& implementation,
                                       std::span<const Bound> bounds);

}  // namespace troika
