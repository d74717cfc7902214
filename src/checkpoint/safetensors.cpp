#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include "base/durable_file.h"
#include "base/hash.h"

namespace troika {

WrittenChecksums write_safetensors(const std::filesystem::path& path,
                                   const SafetensorsLayout& layout, const TensorSource& source) {
  const SafetensorsHeader& header = layout.header;
  WrittenChecksums checksums{.header = checksum(std::as_bytes(std::span(header.bytes))),
                             .tensors = {}};
  checksums.tensors.resize(header.tensors.size());
  OutputFile file(path);
  file.write(header.bytes);
  // One buffer for all tensors: memory is bounded by the largest one. Checksums are computed while
  // the bytes are in the cache.
  std::vector<std::byte> buffer;
  for (std::size_t at = 0; at < header.tensors.size(); ++at) {
    const StoredTensor& tensor = header.tensors[at];
    // Grows only: shrinking and growing again would clear the new part each time.
    buffer.resize(std::max(buffer.size(), tensor.end - tensor.begin));
    const std::span<std::byte> bytes(buffer.data(), tensor.end - tensor.begin);
    source(layout.order[at], bytes);
    // By entry, not by position in the file.
    checksums.tensors[layout.order[at]] = checksum(bytes);
    file.write(bytes);
  }
  file.finish();
  return checksums;
}

void save_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                      const TensorSource& source, const Metadata& metadata) {
  Partial partial(path);
  write_safetensors(partial.path(), lay_out(entries, metadata), source);
  partial.publish();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path), file_(path), header_(parse_header(file_.bytes(), path.string())) {
  for (std::size_t at = 0; at < header_.tensors.size(); ++at)
    by_name_[header_.tensors[at].name] = at;
}

std::uint64_t SafetensorsFile::header_checksum() const {
  return checksum(std::as_bytes(std::span(header_.bytes)));
}

const StoredTensor* SafetensorsFile::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

std::span<const std::byte> SafetensorsFile::bytes(const StoredTensor& tensor) const {
  return file_.bytes().subspan(tensor.begin, tensor.end - tensor.begin);
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorEntry& expected) const {
  const StoredTensor* tensor = find(expected.name);
  if (tensor == nullptr) {
    throw Error(ErrorKind::file,
                fmt::format("{}: it has no tensor '{}'; it belongs to another model",
                            path_.string(), expected.name));
  }
  if (tensor->shape != expected.spec.shape || tensor->type != stored_type(expected.spec.dtype)) {
    throw Error(
        ErrorKind::file,
        fmt::format("{}: tensor '{}' is {}{}, but {}{} is needed; it belongs to another model",
                    path_.string(), expected.name, to_string(tensor->type),
                    to_string(tensor->shape), to_string(stored_type(expected.spec.dtype)),
                    to_string(expected.spec.shape)));
  }
  return bytes(*tensor);
}

}  // namespace troika
