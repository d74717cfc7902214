#include "ops/embedding.h"

#include <array>

#include "ops/require.h"

namespace troika {

std::span<const std::string_view> enum_names(DType) {
  static constexpr std::array<std::string_view, 3> kNames{"f32", "f64", "i32"};
  return kNames;
}

Signature signature(const Embedding& op, std::span<const TensorSpec> inputs) {
  require_inputs("embedding", inputs, 1);
  const Shape& tokens = inputs[0].shape;
  require(inputs[0].dtype == DType::i32 && tokens.rank() >= 1 && tokens.rank() <= 3, "embedding",
          "takes tokens of type i32 and rank 1 to 3, not ", inputs[0]);
  require(op.vocabulary > 0 && op.width > 0, "embedding", "needs vocabulary > 0 and width > 0");
  require(op.dtype != DType::i32, "embedding", "needs a floating dtype");

  Signature s{.axes = leading_axes(tokens, tokens.rank())};
  int v = static_cast<int>(tokens.rank()), d = v + 1;
  // A tile gives zeros for tokens outside its rows, so the tiles of v add up: a reduction.
  s.axes.push_back({"v", AxisKind::reduction, op.vocabulary});
  s.axes.push_back({"d", AxisKind::parameter, op.width});
  std::vector<DimMap> token_dims;
  for (int axis = 0; axis < v; ++axis) token_dims.push_back(along(axis));
  std::vector<DimMap> y_dims = token_dims;
  y_dims.push_back(along(d));
  Shape y = tokens;
  y.push_back(op.width);

  s.slots = {{.role = Role::input,
              .name = "tokens",
              .spec = inputs[0],
              .dims = token_dims,
              .bound = op.vocabulary},
             {.role = Role::weight,
              .name = "weight",
              .spec = {{op.vocabulary, op.width}, op.dtype},
              .dims = {along(v), along(d)},
              .init = {Init::Kind::normal, 1}},
             {Role::output, "y", {y, op.dtype}, y_dims}};
  // Forward only copies. There is no backward_data, because tokens have no gradient.
  s.phases = {{Phase::forward, {read(0), read(1), write(2)}, {}},
              {Phase::backward_weight, {read(0), read_grad(2), write_grad(1)}, {y.elements()}}};
  return s;
}

Embedding localize(const Embedding& op, const Signature& signature, const Region& tile) {
  Range rows = tile[static_cast<std::size_t>(signature.axis("v"))];
  Range columns = tile[static_cast<std::size_t>(signature.axis("d"))];
  return {.vocabulary = rows.extent(), .width = columns.extent(), .dtype = op.dtype};
}

std::vector<std::int64_t> tile_position(const Embedding&, const Signature& signature,
                                        const Region& tile) {
  return {tile[static_cast<std::size_t>(signature.axis("v"))].begin};
}

}  // namespace troika
