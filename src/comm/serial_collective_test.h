// What a collective shall give, summed up one after the other in a plain loop.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "collective/combine_rule.h"
#include "collective/recipe.h"
#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace troika {

/// Small integers: their sums are exact in every type.
inline double contribution(int member, std::int64_t element) {
  return static_cast<double>((element * 7 + member * 13) % 5 - 2);
}

inline double combined(int members, std::int64_t element, CombineRule rule) {
  double result = contribution(0, element);
  for (int member = 1; member < members; ++member) {
    double next = contribution(member, element);
    if (rule == CombineRule::min) {
      result = std::min(result, next);
    } else if (rule == CombineRule::max) {
      result = std::max(result, next);
    } else {
      result += next;
    }
  }
  return result;
}

/// What the collective shall leave in an element, by its definition; nothing where it is spoilt.
inline std::optional<double> expected(const CollectiveCall& call, int member, std::int64_t element,
                                      CombineRule rule) {
  auto inside = [&](int owner) {
    Range range = call.ranges[static_cast<std::size_t>(owner)];
    return range.begin <= element && element < range.end;
  };
  auto owner = [&] {
    int found = 0;
    while (found < call.members && !inside(found)) ++found;
    return found;
  };
  switch (call.kind) {
    case Collective::all_reduce:
      return combined(call.members, element, rule);
    case Collective::reduce:
      if (member != call.root) return std::nullopt;
      return combined(call.members, element, rule);
    case Collective::reduce_scatter:
      if (!inside(member)) return std::nullopt;
      return combined(call.members, element, rule);
    case Collective::broadcast:
      return contribution(call.root, element);
    case Collective::gather:
      if (member != call.root) return std::nullopt;
      [[fallthrough]];
    case Collective::all_gather:
      return contribution(owner() < call.members ? owner() : member, element);
    case Collective::scatter:
      if (!inside(member)) return std::nullopt;
      return contribution(call.root, element);
    case Collective::all_to_all: {
      if (owner() == call.members) return std::nullopt;
      std::int64_t begin = call.ranges[static_cast<std::size_t>(owner())].begin;
      std::int64_t mine = call.ranges[static_cast<std::size_t>(member)].begin;
      return contribution(owner(), mine + element - begin);
    }
    case Collective::barrier:
      return std::nullopt;
  }
  return std::nullopt;
}

inline bool combines(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce ||
         kind == Collective::reduce_scatter;
}

template <class T>
T stored(double value, CombineRule rule, int members) {
  using Computed = std::conditional_t<sizeof(T) == 2, float, T>;
  auto wide = static_cast<Computed>(value);
  if (rule == CombineRule::mean && members > 1) {
    if constexpr (std::is_integral_v<T>) {
      wide /= members;
    } else {
      wide *= Computed{1} / static_cast<Computed>(members);
    }
  }
  return static_cast<T>(wide);
}

/// Calls f.template operator()<T>() with the type of the elements: all that collectives know.
template <class F>
void dispatch_elements(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
      return dispatch(dtype, std::forward<F>(f));
    case DType::i32:
      return std::forward<F>(f).template operator()<std::int32_t>();
    case DType::f16:
      return std::forward<F>(f).template operator()<Float16>();
    case DType::bf16:
      return std::forward<F>(f).template operator()<BFloat16>();
  }
}

}  // namespace troika
