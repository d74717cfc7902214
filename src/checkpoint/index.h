// index.json of a checkpoint: its files and tensors with their checksums. The last line is a
// checksum of the index itself.
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
  std::uint64_t checksum = 0;  ///< Checksum of its bytes in the file.

  bool operator==(const IndexedTensor&) const = default;
};

struct Index {
  std::int64_t step = 0;
  std::vector<IndexedFile> files;
  std::vector<IndexedTensor> tensors;
  std::string meta_json;  ///< JSON object of the caller; read back as an equal value.

  bool operator==(const Index&) const = default;
};

/// Throws Error(usage) if meta_json is not a JSON object or a name is not UTF-8.
std::string to_text(const Index& index);

/// The inverse. Throws Error(file), beginning with `where`, if `text` was changed in any byte.
Index parse_index(std::string_view text, const std::string& where);

/// Returns whether a name is that of a safetensors file without a folder, so that an index cannot
/// point outside its checkpoint.
bool is_plain_file_name(std::string_view name);

/// Sixteen hexadecimal digits.
std::string hex(std::uint64_t value);

}  // namespace troika
