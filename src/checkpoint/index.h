// index.json of a checkpoint: what is in it, and a checksum over everything, itself included.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor_spec.h"

namespace troika {

/// A safetensors file of the checkpoint; the checksum is over its bytes up to the first tensor.
struct IndexedFile {
  std::string name;
  std::uint64_t header_checksum = 0;

  bool operator==(const IndexedFile&) const = default;
};

struct IndexedTensor {
  std::string name;
  TensorSpec spec;
  std::string file;
  std::uint64_t checksum = 0;  ///< Of its bytes in the file.

  bool operator==(const IndexedTensor&) const = default;
};

struct Index {
  std::int64_t step = 0;
  std::vector<IndexedFile> files;
  std::vector<IndexedTensor> tensors;
  std::string meta_json;  ///< An object of the caller's; comes back as the same JSON value.

  bool operator==(const Index&) const = default;
};

/// Throws Error(usage) when meta_json is not a JSON object or a name is not UTF-8.
std::string to_text(const Index& index);

/// Throws Error(file), beginning with `where`, unless `text` is to the byte what `to_text` wrote.
Index parse_index(std::string_view text, const std::string& where);

/// Whether a name stands for a safetensors file in the checkpoint's own folder.
bool is_plain_file_name(std::string_view name);

/// Sixteen hexadecimal digits.
std::string hex(std::uint64_t value);

}  // namespace troika
