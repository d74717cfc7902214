#include "kernels/cpu/dnnl_api.h"

#include <fmt/format.h>

#include <array>

namespace troika {
namespace {

using Tag = dnnl::memory::format_tag;

/// By rank.
constexpr std::array<Tag, 7> kPlain{Tag::undef, Tag::a,     Tag::ab,    Tag::abc,
                                    Tag::abcd,  Tag::abcde, Tag::abcdef};

/// oneDNN's tags name dimensions by letters. A capital letter is a dimension whose blocks follow
/// the other dimensions: aBcd16b is n,C,h,w,c with blocks of 16 channels.
Tag tag_of(Layout layout, std::size_t rank) {
  switch (layout) {
    case Layout::plain:
      return kPlain.at(rank);
    case Layout::channels_last:
      return Tag::acdb;
    case Layout::blocked8:
      return Tag::aBcd8b;
    case Layout::blocked16:
      return Tag::aBcd16b;
    case Layout::transposed:
      return Tag::ba;
    case Layout::weight_io8:
      return Tag::ABcd8b8a;
    case Layout::weight_io16:
      return Tag::ABcd16b16a;
    case Layout::weight_oi8:
      return Tag::ABcd8a8b;
    case Layout::weight_oi16:
      return Tag::ABcd16a16b;
    case Layout::weight_o8:
      return Tag::Acdb8a;
    case Layout::weight_o16:
      return Tag::Acdb16a;
    case Layout::weight_hwio:
      return Tag::cdba;
    case Layout::group_g8:
      return Tag::Abcd8a;
    case Layout::group_g16:
      return Tag::Abcd16a;
    case Layout::panels8:
    case Layout::panels16:
    case Layout::turned_panels8:
    case Layout::turned_panels16:
      break;  // ours alone
  }
  return Tag::undef;
}

struct GroupedTag {
  Layout layout;
  Tag tag;
  std::int64_t block;  // outputs of a group must fill their blocks, or the padding would differ
};

constexpr std::array<GroupedTag, 7> kGrouped{{{Layout::plain, Tag::abcde, 1},
                                              {Layout::weight_io8, Tag::aBCde8c8b, 8},
                                              {Layout::weight_io16, Tag::aBCde16c16b, 16},
                                              {Layout::weight_oi8, Tag::aBCde8b8c, 8},
                                              {Layout::weight_oi16, Tag::aBCde16b16c, 16},
                                              {Layout::weight_o8, Tag::aBdec8b, 8},
                                              {Layout::weight_o16, Tag::aBdec16b, 16}}};

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::i32 ? dnnl::memory::data_type::s32 : dnnl::memory::data_type::f32;
}

dnnl::memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

dnnl::algorithm algorithm_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::relu:
    case ActivationKind::leaky_relu:
      return dnnl::algorithm::eltwise_relu;
    case ActivationKind::gelu:
      return dnnl::algorithm::eltwise_gelu_erf;
    case ActivationKind::gelu_tanh:
      return dnnl::algorithm::eltwise_gelu_tanh;
    case ActivationKind::sigmoid:
      return dnnl::algorithm::eltwise_logistic;
    case ActivationKind::tanh:
      return dnnl::algorithm::eltwise_tanh;
  }
  return dnnl::algorithm::undef;
}

/// Our kernels are compiled for the levels of the x86-64 ABI: v4 has AVX-512, v3 has AVX2 and FMA.
int processor_lanes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return 16;
  if (__builtin_cpu_supports("x86-64-v3")) return 8;
#endif
  return 0;
}

}  // namespace

void check_dnnl(dnnl_status_t status, std::string_view what) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory)
    throw Error(ErrorKind::memory,
                fmt::format("oneDNN ran out of memory in {}; use a smaller batch", what));
  throw Bug(fmt::format("oneDNN answered {} with status {}", what, static_cast<int>(status)));
}

MemoryDesc describe(const TensorSpec& spec, Layout layout) {
  return {dims_of(spec.shape), type_of(spec.dtype), tag_of(layout, spec.shape.rank())};
}

std::optional<MemoryDesc> describe_grouped(const TensorSpec& spec, Layout layout,
                                           std::int64_t groups) {
  const Shape& shape = spec.shape;
  std::int64_t outputs = shape[0] / groups;
  dnnl::memory::dims dims{groups, outputs, shape[1], shape[2], shape[3]};
  // Depthwise convolutions have layouts of their own, blocked over groups.
  bool depthwise = outputs == 1 && shape[1] == 1;
  if (depthwise && layout == Layout::group_g8)
    return MemoryDesc(dims, type_of(spec.dtype), Tag::Abcde8a);
  if (depthwise && layout == Layout::group_g16)
    return MemoryDesc(dims, type_of(spec.dtype), Tag::Abcde16a);
  for (const GroupedTag& row : kGrouped) {
    if (row.layout == layout && outputs % row.block == 0)
      return MemoryDesc(dims, type_of(spec.dtype), row.tag);
  }
  return std::nullopt;
}

MemoryDesc describe_strided(const TensorSpec& spec, std::span<const std::int64_t> strides) {
  return {dims_of(spec.shape), type_of(spec.dtype),
          dnnl::memory::dims(strides.begin(), strides.end())};
}

MemoryDesc describe_any(const Shape& shape) {
  return {dims_of(shape), dnnl::memory::data_type::f32, Tag::any};
}

dnnl::primitive_attr attributes(const Epilogue& epilogue) {
  dnnl::primitive_attr attr;
  // The arena provides scratch: launches must not allocate.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (epilogue.residual) after.append_binary(dnnl::algorithm::binary_add, *epilogue.residual);
  if (epilogue.activation) {
    const Activation& op = *epilogue.activation;
    float alpha = op.kind == ActivationKind::leaky_relu ? static_cast<float>(op.slope) : 0.0f;
    after.append_eltwise(1.0f, algorithm_of(op.kind), alpha, 0.0f);
  }
  attr.set_post_ops(after);
  return attr;
}

// The iterator over implementations overwrites its descriptor, so each one is copied.
Implementation snapshot(const Implementation& implementation) {
  dnnl_primitive_desc_t copy = nullptr;
  check_dnnl(dnnl_primitive_desc_clone(&copy, implementation.get()),
             "the copy of a primitive descriptor");
  Implementation owned;
  owned.reset(copy);
  return owned;
}

bool is_unimplemented(const dnnl::error& error) {
  if (error.status == dnnl_unimplemented) return true;
  check_dnnl(error.status, error.what());
  return false;
}

std::vector<Implementation> reorder_implementations(const dnnl::engine& engine,
                                                    const MemoryDesc& from, const MemoryDesc& to) {
  try {
    dnnl::reorder::primitive_desc found(engine, from, engine, to, attributes(), true);
    if (!found) return {};
    return {snapshot(found)};
  } catch (const dnnl::error& error) {
    if (!is_unimplemented(error)) throw;
    return {};
  }
}

Bytes scratch_of(const Implementation& implementation) {
  return {static_cast<std::int64_t>(implementation.scratchpad_desc().get_size())};
}

bool is_reference(const Implementation& implementation) {
  return std::string_view(implementation.impl_info_str()).starts_with("ref");
}

void forget_primitives() {
  check_dnnl(dnnl_set_primitive_cache_capacity(0), "the cache of primitives");
}

int allowed_lanes() {
  // oneDNN's instruction sets are sets of bits; a wider one has all bits of those it includes.
  unsigned allowed = dnnl_get_effective_cpu_isa();
  auto allows = [allowed](unsigned isa) { return (allowed & isa) == isa; };
  if (processor_lanes() == 16 && allows(dnnl_cpu_isa_avx512_core)) return 16;
  return processor_lanes() >= 8 && allows(dnnl_cpu_isa_avx2) ? 8 : 0;
}

std::string dnnl_version_text() {
  const dnnl_version_t* version = dnnl_version();
  std::string text = fmt::format("onednn {}.{}.{}", version->major, version->minor, version->patch);
  if (allowed_lanes() < processor_lanes())
    text += allowed_lanes() == 8 ? " limited to avx2" : " limited to sse";
  return text;
}

}  // namespace troika
