#include "data/file_bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

void FileBytes::will_read(std::size_t offset, std::size_t count) const {
  const auto* file = std::get_if<MappedFile>(&content_);
  if (file == nullptr) return;
  // Linux reads at most one read-ahead window per call and drops the rest of a longer range; 128
  // KiB is the default size of that window.
  constexpr std::size_t kMostAtOnce = 128 << 10;
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::span<const std::byte> bytes = file->bytes();
  std::size_t end = std::min(offset + count, bytes.size());
  for (std::size_t at = offset / page * page; at < end; at += kMostAtOnce)
    // Errors are ignored: without the hint the bytes are read when they are needed.
    ::madvise(const_cast<std::byte*>(bytes.data()) + at, std::min(kMostAtOnce, end - at),
              MADV_WILLNEED);
}

Error file_error(const std::string& path, std::size_t offset, const std::string& problem) {
  return {ErrorKind::file, fmt::format("{} at byte {}: {}", path, offset, problem)};
}

}  // namespace troika::data
