#include "data/file_bytes.h"

#include <fmt/format.h>

#include <utility>

#include "data/gzip.h"

namespace troika::data {

FileBytes::FileBytes(std::string path, std::variant<MappedFile, std::vector<std::byte>> content)
    : path_(std::move(path)), content_(std::move(content)) {}

FileBytes FileBytes::map(const std::string& path) { return {path, MappedFile(path)}; }

FileBytes FileBytes::map_or_inflate(const std::string& path) {
  MappedFile file(path);
  if (!path.ends_with(".gz") && !looks_like_gzip(file.bytes())) return {path, std::move(file)};
  return {path, inflate_gzip(file.bytes(), path)};
}

FileBytes FileBytes::of_text(const std::string& name, std::string_view text) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return {name, std::vector<std::byte>(bytes.begin(), bytes.end())};
}

std::span<const std::byte> FileBytes::bytes() const {
  if (const auto* file = std::get_if<MappedFile>(&content_)) return file->bytes();
  return std::get<std::vector<std::byte>>(content_);
}

Error file_error(const std::string& path, std::size_t offset, const std::string& problem) {
  return {ErrorKind::file, fmt::format("{} at byte {}: {}.", path, offset, problem)};
}

}  // namespace troika::data
