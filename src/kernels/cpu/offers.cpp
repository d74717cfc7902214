#include "kernels/cpu/offers.h"

#include <omp.h>

#include <algorithm>

#include "device/cpu/team_placement.h"

namespace troika {
namespace {

class LoopKernel final : public Kernel {
 public:
  LoopKernel(Loop loop, int threads) : loop_(std::move(loop)), threads_(threads) {}

  void launch(std::span<const DevicePointer> operands, DevicePointer scratch,
              std::span<const std::int64_t> position) override {
    loop_({operands, scratch, threads_, position});
  }

 private:
  Loop loop_;
  int threads_;
};

/// Owns a primitive and the memory objects that its arguments are; they only change their
/// addresses.
class PrimitiveKernel final : public Kernel {
 public:
  PrimitiveKernel(const CpuContext& context, const Implementation& implementation,
                  std::span<const Bound> bounds)
      : threads_(context.threads), stream_(context.engine), primitive_(implementation.get()) {
    for (const Bound& bound : bounds) {
      operands_.push_back(bound.operand);
      add(context, bound.argument, bound.desc);
    }
    add(context, DNNL_ARG_SCRATCHPAD, implementation.scratchpad_desc());
  }

  void launch(std::span<const DevicePointer> operands, DevicePointer scratch,
              std::span<const std::int64_t>) override {
    // oneDNN sized the scratch for this many threads when the primitive was made.
    omp_set_num_threads(threads_);
    for (std::size_t at = 0; at < operands_.size(); ++at) point(at, operands[operands_[at]]);
    point(operands_.size(), scratch);
    check_dnnl(dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                      static_cast<int>(arguments_.size()), arguments_.data()),
               "a launch");
    TeamPlacement::renew();  // oneDNN may have run a smaller team
  }

 private:
  /// The memory object has no address until the first launch.
  void add(const CpuContext& context, int argument, const MemoryDesc& desc) {
    dnnl::memory& memory =
        memories_.emplace_back(dnnl::memory(desc, context.engine, DNNL_MEMORY_NONE));
    arguments_.push_back({argument, memory.get()});
    addresses_.push_back(nullptr);
  }

  void point(std::size_t at, DevicePointer address) {
    // Buffers have fixed places in the arena, so most launches change no address.
    if (addresses_[at] == address) return;
    check_dnnl(dnnl_memory_set_data_handle(arguments_[at].memory, address),
               "the address of an operand");
    addresses_[at] = address;
  }

  int threads_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<std::size_t> operands_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<DevicePointer> addresses_;
};

}  // namespace

Offer offer_loop(const Request& request, Candidate candidate, Loop loop) {
  TROIKA_CHECK_EQ(candidate.layouts.size(), request.operands.size());
  return {std::move(candidate),
          [loop = std::move(loop), threads = request.context.threads](const Candidate&) {
            return std::make_unique<LoopKernel>(loop, threads);
          }};
}

Offer offer_flat(const Request& request, std::vector<InPlace> in_place,
                 std::function<Loop(std::int64_t)> loop_for) {
  // The layouts are placeholders: a flat candidate takes any that all operands share, and its loop
  // also runs over their padding.
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain),
                      .flat = true,
                      .in_place = std::move(in_place)};
  return {std::move(candidate), [loop_for = std::move(loop_for), shape = request.shape(0),
                                 threads = request.context.threads](const Candidate& chosen) {
            return std::make_unique<LoopKernel>(loop_for(stored_elements(chosen.layouts[0], shape)),
                                                threads);
          }};
}

std::unique_ptr<Kernel> make_primitive(const CpuContext& context,
                                       const Implementation& implementation,
                                       std::span<const Bound> bounds) {
  return std::make_unique<PrimitiveKernel>(context, implementation, bounds);
}

Offer offer_primitive(const Request& request, Candidate candidate,
                      const Implementation& implementation, std::vector<Bound> bounds) {
  TROIKA_CHECK_EQ(candidate.layouts.size(), request.operands.size());
  candidate.scratch = scratch_of(implementation);
  // The maker outlives the request, so it copies all it needs.
  return {std::move(candidate),
          [context = request.context, implementation, bounds = std::move(bounds)](
              const Candidate&) { return make_primitive(context, implementation, bounds); }};
}

std::vector<Layout> activation_layouts(const Shape& shape) {
  if (shape.rank() != 4) return {Layout::plain};
  return {Layout::plain, Layout::channels_last, Layout::blocked16, Layout::blocked8};
}

std::vector<Layout> parameter_layouts(const Shape& shape) {
  if (shape.rank() == 2) return {Layout::plain, Layout::transposed};
  if (shape.rank() != 4) return {Layout::plain};
  std::vector<Layout> layouts{Layout::plain,       Layout::weight_io16, Layout::weight_io8,
                              Layout::weight_oi16, Layout::weight_oi8,  Layout::weight_o16,
                              Layout::weight_o8,   Layout::weight_hwio};
  // Depthwise convolutions: one input channel per group.
  if (shape[1] == 1) layouts.insert(layouts.end(), {Layout::group_g16, Layout::group_g8});
  return layouts;
}

std::vector<Layout> all_layouts(const Shape& shape) {
  std::vector<Layout> layouts = activation_layouts(shape);
  for (Layout layout : parameter_layouts(shape)) {
    if (std::ranges::find(layouts, layout) == layouts.end()) layouts.push_back(layout);
  }
  return layouts;
}

}  // namespace troika
