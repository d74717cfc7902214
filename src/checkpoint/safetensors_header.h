// The front of a safetensors file as a value: an 8-byte little-endian length, then JSON that says
// where each tensor lies. https://huggingface.co/docs/safetensors
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/stored_type.h"
#include "tensor/shape.h"

namespace troika {

/// Free text that travels in a file, under "__metadata__".
using Metadata = std::map<std::string, std::string>;

/// A tensor in a file; `begin` and `end` count bytes from the start of the file.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const StoredTensor&) const = default;
};

struct SafetensorsHeader {
  std::vector<StoredTensor>
      tensors;  ///< In file order; they follow each other without a gap, up to the end of the file.
  Metadata metadata;
  std::string bytes;  ///< The file up to the first tensor, length word included.

  std::uint64_t file_bytes() const { return tensors.empty() ? bytes.size() : tensors.back().end; }
};

/// Reads the header of a whole file. Throws Error(file), beginning with `where`, unless every
/// statement in it is consistent: known types, shapes that give the stated bytes, no gap, no
/// overlap, no byte left over.
SafetensorsHeader parse_header(std::span<const std::byte> file, const std::string& where);

}  // namespace troika
