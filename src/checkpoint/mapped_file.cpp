#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "checkpoint/durable_file.h"

namespace troika {

namespace {

std::span<const std::byte> map(int handle, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(handle, &status) != 0) throw file_error("read", path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::file,
                fmt::format("cannot read '{}': it is not a file; name a file", path.string()));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};  // An empty mapping is an error to mmap, not to us.
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, handle, 0);
  if (start == MAP_FAILED) throw file_error("map", path, errno);
  return {static_cast<const std::byte*>(start), size};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) throw file_error("read", path, errno);
  try {
    bytes_ = map(handle, path);
  } catch (...) {
    ::close(handle);
    throw;
  }
  ::close(handle);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::string read_small_file(const std::filesystem::path& path, std::size_t limit) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > limit) {
    throw Error(
        ErrorKind::file,
        fmt::format("'{}' has {} bytes, far more than such a file ever has ({}); it is not ours",
                    path.string(), bytes.size(), limit));
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace troika
