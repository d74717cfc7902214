#include "ops/op.h"

#include <fmt/format.h>

#include <concepts>

#include "base/error.h"
#include "ops/fields.h"

namespace troika {
namespace {

/// The operator has its own localize(). The overload for Op must not match, or it would call
/// itself.
template <class A>
concept Localizable = requires(const A& a, const Signature& s, const Region& tile) {
  { localize(a, s, tile) } -> std::same_as<A>;
};

template <class A>
concept Positioned = requires(const A& a, const Signature& s, const Region& tile) {
  tile_position(a, s, tile);
};

/// Compares the name with those of alternatives At and above.
template <std::size_t At = 0>
Op parse_named(std::string_view name, std::string_view inner) {
  if constexpr (At == std::variant_size_v<AnyOp>) {
    throw Error(ErrorKind::file, fmt::format("'{}' is not an operator", name));
  } else {
    using Attributes = std::variant_alternative_t<At, AnyOp>;
    if (name == Attributes::kName) return parse_attributes<Attributes>(inner);
    return parse_named<At + 1>(name, inner);
  }
}

}  // namespace

Op::Op() = default;
Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

bool operator==(const Op& a, const Op& b) {
  return static_cast<const AnyOp&>(a) == static_cast<const AnyOp&>(b);
}

std::string_view name_of(const Op& op) {
  return std::visit([]<class A>(const A&) { return A::kName; }, op);
}

Signature signature(const Op& op, std::span<const TensorSpec> inputs) {
  return std::visit([&](const auto& attributes) { return signature(attributes, inputs); }, op);
}

Op localize(const Op& op, const Signature& s, const Region& tile) {
  return std::visit(
      [&]<class A>(const A& attributes) -> Op {
        if constexpr (Localizable<A>)
          return localize(attributes, s, tile);
        else
          // Without a localize() no attribute depends on the tile; shapes come from the inputs.
          return attributes;
      },
      op);
}

std::vector<std::int64_t> position_of(const Op& op, const Signature& s, const Region& tile) {
  return std::visit(
      [&]<class A>(const A& attributes) -> std::vector<std::int64_t> {
        if constexpr (Positioned<A>)
          return tile_position(attributes, s, tile);
        else
          return {};
      },
      op);
}

std::uint64_t mix(std::uint64_t hash, const Op& op) {
  hash = mix(hash, op.index());
  return std::visit([&](const auto& attributes) { return mix_attributes(hash, attributes); }, op);
}

bool depends_on_begin(const Op& op, const Axis& axis) {
  const Attention* attention = std::get_if<Attention>(&op);
  return attention != nullptr && attention->causal && axis.name == "q";
}

std::string to_text(const Op& op) {
  return std::visit([](const auto& attributes) { return print_attributes(attributes); }, op);
}

Op parse_op(std::string_view text) {
  std::size_t brace = text.find('{');
  if (brace == std::string_view::npos || text.back() != '}')
    throw Error(ErrorKind::file, fmt::format("'{}' is not of the form name{{key=value,…}}", text));
  return parse_named(text.substr(0, brace), text.substr(brace + 1, text.size() - brace - 2));
}

}  // namespace troika
