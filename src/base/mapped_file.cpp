#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

class Descriptor {
 public:
  // Non-blocking, because opening a pipe without a writer would otherwise block for ever.
  explicit Descriptor(const std::filesystem::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* action) {
  std::string reason = std::generic_category().message(errno);
  throw Error(ErrorKind::file, fmt::format("cannot {} '{}': {}; check the path and its permissions",
                                           action, path.string(), reason));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  Descriptor file(path);
  if (file.number() < 0) fail(path, "read");
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail(path, "examine");
  // A folder cannot be mapped, and the size of a pipe or a device is not that of its content.
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::file,
                fmt::format("cannot read '{}': it is not a regular file; name the file itself",
                            path.string()));
  auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // mmap refuses a length of zero
  // The mapping stays valid after the descriptor is closed.
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) fail(path, "map");
  bytes_ = {static_cast<std::byte*>(address), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  // The destructor of `other` unmaps the old file.
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

std::string read_small_file(const std::filesystem::path& path, std::size_t limit) {
  MappedFile file(path);
  std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > limit)
    throw Error(
        ErrorKind::file,
        fmt::format("'{}' has {} bytes, over the limit of {} for such a file; check the path",
                    path.string(), bytes.size(), limit));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace troika
