// The part of oneDNN that the CPU kernels use. All code that depends on its version (2 or 3) is in
// this file pair.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/activation.h"
#include "tensor/layout.h"
#include "tensor/tensor_spec.h"

namespace troika {

using MemoryDesc = dnnl::memory::desc;
/// One implementation of an operation, with its layouts, its scratch and its name.
using Implementation = dnnl::primitive_desc_base;

/// Throws Error(memory) if oneDNN ran out of memory, else a Bug, because all arguments are ours.
void check_dnnl(dnnl_status_t status, std::string_view what);

/// A tensor of f32 or i32 as oneDNN sees it.
MemoryDesc describe(const TensorSpec& spec, Layout layout);
/// As above, with the first dimension divided into `groups`, as the weights of a grouped
/// convolution are. Returns nothing for layouts in which that is not the same memory.
std::optional<MemoryDesc> describe_grouped(const TensorSpec& spec, Layout layout,
                                           std::int64_t groups);
/// A tensor with the given strides, in elements.
MemoryDesc describe_strided(const TensorSpec& spec, std::span<const std::int64_t> strides);
/// The shape with a layout that oneDNN chooses.
MemoryDesc describe_any(const Shape& shape);

/// Applied to the result of an operation, in this order.
struct Epilogue {
  std::optional<MemoryDesc> residual{};  ///< Added; its argument is kResidual.
  std::optional<Activation> activation{};
};
inline constexpr int kResidual = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
/// Attributes of a primitive whose scratch the caller provides.
dnnl::primitive_attr attributes(const Epilogue& epilogue = {});

Implementation snapshot(const Implementation& implementation);
/// Returns whether oneDNN reports that it has no such implementation; throws like check_dnnl
/// otherwise.
bool is_unimplemented(const dnnl::error& error);

/// Returns all implementations of a forward operation, in oneDNN's order of preference. The
/// arguments are those of the operation in dnnl.hpp, starting with its propagation kind.
template <class Operation, class... Arguments>
std::vector<Implementation> implementations(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr,
                                            const Arguments&... arguments) {
  std::vector<Implementation> found;
  try {
    typename Operation::desc desc(arguments...);  // outlives the iteration, which only points to it
    typename Operation::primitive_desc each(desc, attr, engine, true);
    if (!each) return found;
    do found.push_back(snapshot(each));
    while (each.next_impl());
  } catch (const dnnl::error& error) {
    if (!is_unimplemented(error)) throw;
  }
  return found;
}

/// As above for a backward operation, for which oneDNN needs the forward one as a hint.
template <class Operation, class Hint, class... Arguments>
std::vector<Implementation> backward_implementations(const dnnl::engine& engine, const Hint& hint,
                                                     const Arguments&... arguments) {
  std::vector<Implementation> found;
  if (!hint) return found;
  try {
    typename Operation::desc desc(arguments...);
    typename Operation::primitive_desc each(desc, attributes(), engine, hint, true);
    if (!each) return found;
    do found.push_back(snapshot(each));
    while (each.next_impl());
  } catch (const dnnl::error& error) {
    if (!is_unimplemented(error)) throw;
  }
  return found;
}

/// Returns the hint for backward_implementations().
template <class Operation, class... Arguments>
typename Operation::primitive_desc forward_hint(const dnnl::engine& engine,
                                                const Arguments&... arguments) {
  try {
    return {typename Operation::desc(arguments...), attributes(), engine, true};
  } catch (const dnnl::error& error) {
    if (!is_unimplemented(error)) throw;
    return {};
  }
}

/// Returns reorders between two descriptions; empty if oneDNN has none.
std::vector<Implementation> reorder_implementations(const dnnl::engine& engine,
                                                    const MemoryDesc& from, const MemoryDesc& to);

Bytes scratch_of(const Implementation& implementation);
/// Returns whether it is one of the plain loops that oneDNN has for completeness.
bool is_reference(const Implementation& implementation);

/// Switches oneDNN's cache of primitives off. Once it holds a primitive, listing the
/// implementations of that operation omits those before it. The cache is not needed, since kernels
/// are compiled once.
void forget_primitives();

/// Returns the floats in the widest vectors that the processor has and ONEDNN_MAX_CPU_ISA, which
/// the library reads, allows: 16 with AVX-512, 8 with AVX2, 0 with less.
int allowed_lanes();

/// "onednn 2.6.3", followed by the limit that ONEDNN_MAX_CPU_ISA sets, because kernel times depend
/// on it.
std::string dnnl_version_text();

}  // namespace troika
