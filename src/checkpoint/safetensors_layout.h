// Where the tensors of a safetensors file will lie, decided before it is written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors_header.h"
#include "tensor/tensor_spec.h"

namespace troika {

/// A tensor to be written.
struct TensorEntry {
  std::string name;
  TensorSpec spec;

  bool operator==(const TensorEntry&) const = default;
};

/// Where everything will lie, known before a byte is written, so that several writers may fill one
/// file.
struct SafetensorsLayout {
  SafetensorsHeader header;
  std::vector<std::size_t> order;  ///< header.tensors[i] is entry number order[i]: wide elements
                                   ///< first, so that all are aligned.
};

/// Throws Error(usage) when a name is empty, reserved, not UTF-8 or there twice.
SafetensorsLayout lay_out(std::span<const TensorEntry> entries, const Metadata& metadata);

}  // namespace troika
