// The element types of the safetensors format. Types without a DType can be listed but not loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace troika {

enum class StoredType { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

/// "F32", as in the file.
std::string_view to_string(StoredType type);
/// Returns nothing for an unknown type.
std::optional<StoredType> parse_stored_type(std::string_view text);
std::uint64_t element_bytes(StoredType type);

StoredType stored_type(DType dtype);

}  // namespace troika
