#include "strategy/split.h"

#include <algorithm>
#include <limits>

namespace troika {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// For factors from 0 on.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

template <class Counts>
std::int64_t product_of_degrees(const std::vector<Factor>& factors, Counts&& counts) {
  std::int64_t product = 1;
  for (const Factor& factor : factors) {
    if (!counts(factor)) continue;
    if (factor.degree < 1) return factor.degree;
    product = saturating_product(product, factor.degree);
  }
  return product;
}

}  // namespace

std::int64_t degree_along(const std::vector<Factor>& factors, std::string_view axis) {
  return product_of_degrees(factors, [&](const Factor& factor) { return factor.axis == axis; });
}

std::int64_t degree_along(const Split& split, std::string_view axis) {
  return degree_along(split.factors, axis);
}

std::int64_t replicas_of(const Split& split) { return degree_along(split, ""); }

std::int64_t tile_count(const Split& split) {
  return product_of_degrees(split.factors,
                            [](const Factor& factor) { return !factor.axis.empty(); });
}

std::vector<double> weights_along(const Split& split, std::string_view axis) {
  auto found = std::ranges::find_if(split.factors, [&](const Factor& factor) {
    return factor.axis == axis && !factor.weights.empty();
  });
  return found == split.factors.end() ? std::vector<double>{} : found->weights;
}

bool has_weights(const Split& split) {
  return std::ranges::any_of(split.factors,
                             [](const Factor& factor) { return !factor.weights.empty(); });
}

std::int64_t largest_device(const Split& split) {
  if (!is_view(split)) return std::ranges::max(split.devices).value;
  std::int64_t largest = split.first;
  for (const Factor& factor : split.factors)
    largest = saturating_sum(largest, saturating_product(factor.degree - 1, factor.stride));
  return saturating_sum(largest, saturating_product(split.chunks - 1, split.chunk_stride));
}

std::vector<DeviceId> devices_used(const Split& split) {
  std::vector<std::int64_t> numbers;
  auto is_wrong = [](const Factor& factor) { return factor.degree < 1 || factor.stride < 0; };
  std::vector<Factor> factors = split.factors;
  if (split.chunks != 1)
    factors.push_back({.axis = "chunk", .degree = split.chunks, .stride = split.chunk_stride});
  std::int64_t tiles =
      saturating_product(tile_count(split), saturating_product(replicas_of(split), split.chunks));
  if (!is_view(split)) {
    for (DeviceId device : split.devices) numbers.push_back(device.value);
  } else if (tiles > kMostTiles || std::ranges::any_of(factors, is_wrong)) {
    numbers = {split.first, largest_device(split)};
  } else {
    numbers = {split.first};
    for (const Factor& factor : factors) {
      const std::size_t before = numbers.size();
      for (std::int64_t at = 1; at < factor.degree && factor.stride > 0; ++at)
        for (std::size_t other = 0; other < before; ++other)
          numbers.push_back(saturating_sum(numbers[other], saturating_product(at, factor.stride)));
    }
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<DeviceId> used;
  for (std::int64_t number : numbers)
    used.push_back(DeviceId(static_cast<std::size_t>(
        std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::int32_t>::max()))));
  return used;
}

std::int64_t dense_stride(const std::vector<Factor>& factors, std::size_t at) {
  std::int64_t stride = 1;
  for (std::size_t behind = at + 1; behind < factors.size(); ++behind)
    if (factors[behind].stride != 0)
      stride = saturating_product(stride, std::max<std::int64_t>(factors[behind].degree, 1));
  return stride;
}

std::vector<Factor> dense(std::vector<Factor> factors) {
  for (std::size_t at = factors.size(); at-- > 0;) factors[at].stride = dense_stride(factors, at);
  return factors;
}

}  // namespace troika
