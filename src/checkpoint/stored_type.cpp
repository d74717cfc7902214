#include "checkpoint/stored_type.h"

#include <array>

namespace troika {

namespace {

struct Row {
  StoredType type;
  std::string_view name;
  std::uint64_t bytes;
};

using enum StoredType;
// In the order of the enumeration.
constexpr std::array<Row, 13> kRows{{{f64, "F64", 8},
                                     {f32, "F32", 4},
                                     {f16, "F16", 2},
                                     {bf16, "BF16", 2},
                                     {i64, "I64", 8},
                                     {i32, "I32", 4},
                                     {i16, "I16", 2},
                                     {i8, "I8", 1},
                                     {u64, "U64", 8},
                                     {u32, "U32", 4},
                                     {u16, "U16", 2},
                                     {u8, "U8", 1},
                                     {boolean, "BOOL", 1}}};

constexpr bool rows_in_order() {
  for (std::size_t at = 0; at < kRows.size(); ++at) {
    if (static_cast<std::size_t>(kRows[at].type) != at) return false;
  }
  return true;
}
static_assert(rows_in_order());

const Row& row(StoredType type) { return kRows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view to_string(StoredType type) { return row(type).name; }

std::optional<StoredType> parse_stored_type(std::string_view text) {
  for (const Row& row : kRows) {
    if (row.name == text) return row.type;
  }
  return std::nullopt;
}

std::uint64_t element_bytes(StoredType type) { return row(type).bytes; }

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return f32;
    case DType::f64:
      return f64;
    case DType::i32:
      return i32;
    case DType::f16:
      return f16;
    case DType::bf16:
      return bf16;
  }
  throw Bug("an element type without a stored form");
}

}  // namespace troika
