// The header of a safetensors file as a value: an 8-byte little-endian length, then JSON that gives
// type, shape and byte range of each tensor. Format: https://huggingface.co/docs/safetensors
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/stored_type.h"
#include "tensor/shape.h"
#include "tensor/tensor_spec.h"

namespace troika {

/// Free text in a file, stored under "__metadata__".
using Metadata = std::map<std::string, std::string>;

/// A tensor to be written.
struct TensorEntry {
  std::string name;
  TensorSpec spec;

  bool operator==(const TensorEntry&) const = default;
};

/// A tensor in a file. `begin` and `end` are byte offsets from the start of the file.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const StoredTensor&) const = default;
};

struct SafetensorsHeader {
  /// In file order, without gaps, up to the end of the file.
  std::vector<StoredTensor> tensors;
  Metadata metadata;
  std::string bytes;  ///< The file up to the first tensor, length word included.

  std::uint64_t file_bytes() const { return tensors.empty() ? bytes.size() : tensors.back().end; }
};

/// Parses the header of `file`, which is the whole file. Throws Error(file), beginning with
/// `where`, unless the header is consistent: known types, shapes that match the byte ranges, no
/// gap, no overlap, and no bytes after the last tensor.
SafetensorsHeader parse_header(std::span<const std::byte> file, const std::string& where);

/// The header of a file to be written. All offsets are known before the first byte is written, so
/// several processes can fill one file.
struct SafetensorsLayout {
  SafetensorsHeader header;
  /// header.tensors[i] is entry number order[i]. Wide elements come first, so that every tensor is
  /// aligned to its element size.
  std::vector<std::size_t> order;
};

/// Throws Error(usage) if a name is empty, reserved, not UTF-8 or used twice.
SafetensorsLayout lay_out(std::span<const TensorEntry> entries, const Metadata& metadata);

}  // namespace troika
