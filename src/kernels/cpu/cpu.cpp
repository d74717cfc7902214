#include "kernels/cpu/cpu.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <concepts>

#include "kernels/cpu/convolution.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/packed_offer.h"
#include "kernels/reference/reference.h"

namespace troika {
namespace {

template <class Attributes>
concept HasOffers = requires(const Attributes& attributes, const Request& request) {
  { offers(attributes, request) } -> std::same_as<Offers>;
};

/// The operators to which others can be fused.
template <class Attributes>
concept Fusable = std::same_as<Attributes, Linear> || std::same_as<Attributes, Conv2d> ||
    std::same_as<Attributes, BatchNorm> || std::same_as<Attributes, Dropout>;

/// oneDNN divides its work, and sizes its scratch, for the threads that it sees when a primitive is
/// made.
class TeamSize {
 public:
  explicit TeamSize(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~TeamSize() { omp_set_num_threads(before_); }
  TeamSize(const TeamSize&) = delete;

 private:
  int before_;
};

Offers reference_offers(const KernelKey& key) {
  std::shared_ptr<Backend> reference =
      make_reference_backend();  // shared by the makers of all candidates
  Offers list;
  for (const Candidate& candidate : reference->candidates(key))
    list.push_back({candidate, [reference, key](const Candidate& chosen) {
                      return reference->compile(key, chosen);
                    }});
  return list;
}

/// Tokens are integers, so an embedding says in its attributes what it computes in. The guard adds
/// up sums in f64 in every run and has a kernel for that.
bool computes_in_f64(const KernelKey& key) {
  if (const Embedding* embedding = std::get_if<Embedding>(&key.op))
    return embedding->dtype == DType::f64;
  return !std::holds_alternative<Guard>(key.op) &&
         std::ranges::any_of(key.inputs,
                             [](const TensorSpec& input) { return input.dtype == DType::f64; });
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuBackendOptions& options)
      : context_{dnnl::engine(dnnl::engine::kind::cpu, 0), options.threads, options.winograd} {
    forget_primitives();
  }

  std::string name() const override { return "cpu"; }

  std::vector<Candidate> candidates(const KernelKey& key) const override {
    // Making an offer asks oneDNN for implementations and their scratch.
    TeamSize team(context_.threads);
    std::vector<Candidate> list;
    for (Offer& offer : all_offers(key)) list.push_back(std::move(offer.candidate));
    return list;
  }

  std::vector<DeclinedAlgorithm> declined(const KernelKey& key) const override {
    if (std::holds_alternative<Linear>(key.op) || std::holds_alternative<Matmul>(key.op)) {
      std::optional<std::string> reason = packed_declined();
      return reason ? std::vector<DeclinedAlgorithm>{{"packed", *reason}}
                    : std::vector<DeclinedAlgorithm>{};
    }
    const Conv2d* op = std::get_if<Conv2d>(&key.op);
    if (op == nullptr) return {};
    TeamSize team(context_.threads);
    Request request(key, context_);
    std::optional<Convolution> convolution = convolution_of(*op, request);
    return convolution ? declined_algorithms(*convolution, request)
                       : std::vector<DeclinedAlgorithm>{};
  }

  std::unique_ptr<Kernel> compile(const KernelKey& key, const Candidate& candidate) const override {
    TeamSize team(context_.threads);
    // A candidate is plain data and may come from a file, so its offer is searched for again.
    for (const Offer& offer : all_offers(key)) {
      bool same_layouts = offer.candidate.flat || offer.candidate.layouts == candidate.layouts;
      if (offer.candidate.algorithm == candidate.algorithm && same_layouts)
        return offer.make(candidate);
    }
    throw Error(
        ErrorKind::usage,
        fmt::format("the CPU backend has no kernel '{}' for {}; the costs were made with another "
                    "version or on another machine, so measure them again",
                    candidate.algorithm, to_text(key)));
  }

 private:
  Offers all_offers(const KernelKey& key) const {
    return std::visit(
        [&]<class Attributes>(const Attributes& attributes) -> Offers {
          if (!key.fused.empty() && !Fusable<Attributes>) return {};
          Request request(key, context_);
          if (request.phase.view) return copy_offers(request);
          Offers list;
          // f64 is for checking, not for speed.
          if constexpr (HasOffers<Attributes>) {
            if (!computes_in_f64(key)) list = offers(attributes, request);
          }
          // Geometry that no fast kernel supports is slow but works. Only reorders may be declined.
          bool may_refuse = std::same_as<Attributes, Reorder>;
          return list.empty() && !may_refuse ? reference_offers(key) : list;
        },
        key.op);
  }

  CpuContext context_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

std::string cpu_library() { return dnnl_version_text(); }

}  // namespace troika
