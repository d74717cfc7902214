// The element types a safetensors file may hold. Those that Troika computes in have a DType; the
// rest are read as raw bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace troika {

enum class StoredType { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

/// "F32", as in the file.
std::string_view to_string(StoredType type);
/// Nothing for a type that is unknown here.
std::optional<StoredType> parse_stored_type(std::string_view text);
std::uint64_t element_bytes(StoredType type);

StoredType stored_type(DType dtype);
std::optional<DType> computed_type(StoredType type);

}  // namespace troika
