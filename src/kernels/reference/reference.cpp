#include "kernels/reference/reference.h"

namespace troika {
namespace {

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const KernelKey& key)
      : op_(key.op), signature_(signature(key.op, key.inputs)), phase_(signature_.at(key.phase)) {}

  // Without scratch memory: the candidate below asks for none.
  void launch(std::span<const DevicePointer> operands, DevicePointer,
              std::span<const std::int64_t> position) override {
    Arguments arguments(signature_, phase_, operands, position);
    std::visit([&](const auto& attributes) { run_reference(attributes, arguments); }, op_);
  }

 private:
  Op op_;
  Signature signature_;
  PhaseSpec phase_;
};

class ReferenceBackend final : public Backend {
 public:
  std::string name() const override { return "reference"; }

  std::vector<Candidate> candidates(const KernelKey& key) const override {
    if (!key.fused.empty()) return {};
    Candidate plain{.algorithm = "reference"};
    plain.layouts.resize(operands_of(key).size(), Layout::plain);
    return {plain};
  }

  std::unique_ptr<Kernel> compile(const KernelKey& key, const Candidate&) const override {
    return std::make_unique<ReferenceKernel>(key);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace troika
