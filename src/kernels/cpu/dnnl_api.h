// oneDNN as far as the CPU kernels use it. What differs between its versions 2 and 3 is in this
// file pair and nowhere else.
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
/// One implementation of an operation; knows its layouts, its scratch and its name.
using Implementation = dnnl::primitive_desc_base;

/// Throws Error(memory) when oneDNN ran out of memory, else a Bug: its arguments are all ours.
void check_dnnl(dnnl_status_t status, std::string_view what);

/// A tensor of f32 or i32 as oneDNN sees it.
MemoryDesc describe(const TensorSpec& spec, Layout layout);
/// As above, with the first dimension divided into `groups`: what a grouped convolution calls
/// weights. Only for layouts in which that is the same memory.
std::optional<MemoryDesc> describe_grouped(const TensorSpec& spec, Layout layout,
                                           std::int64_t groups);
/// A tensor whose dimensions are so many elements apart.
MemoryDesc describe_strided(const TensorSpec& spec, std::span<const std::int64_t> strides);
/// The shape with a layout of oneDNN's own choice.
MemoryDesc describe_any(const Shape& shape);

/// The first follows the operation, then the second.
struct Epilogue {
  std::optional<MemoryDesc> residual{};  ///< Added; its argument is kResidual.
  std::optional<Activation> activation{};
};
inline constexpr int kResidual = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
/// Scratch is ours; the epilogue follows the operation.
dnnl::primitive_attr attributes(const Epilogue& epilogue = {});

Implementation snapshot(const Implementation& implementation);
/// Whether the error only says that oneDNN has no such thing; rethrows as check_dnnl otherwise.
bool is_unimplemented(const dnnl::error& error);

/// All implementations of a forward operation, oneDNN's favourite first; empty when there is none.
/// The arguments are those of the operation in dnnl.hpp from its propagation kind on.
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

/// The same for a backward operation; oneDNN takes the forward one as a hint.
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

/// The hint for the above.
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

/// Reorders between two descriptions; empty when oneDNN cannot.
std::vector<Implementation> reorder_implementations(const dnnl::engine& engine,
                                                    const MemoryDesc& from, const MemoryDesc& to);

Bytes scratch_of(const Implementation& implementation);
/// Plain loops that oneDNN keeps for completeness.
bool is_reference(const Implementation& implementation);

/// Switches oneDNN's own cache of primitives off: once it holds one, listing the implementations of
/// that operation leaves out those before it. Kernels are kept by those who made them.
void forget_primitives();

/// Floats in the widest vectors that kernels may use: 16 with AVX-512, 8 with AVX2, 0 with less.
/// By what the processor has and ONEDNN_MAX_CPU_ISA, which the library reads, allows.
int allowed_lanes();

/// "onednn 2.6.3", and the limit where ONEDNN_MAX_CPU_ISA sets one: times of kernels depend on it.
std::string dnnl_version_text();

}  // namespace troika
