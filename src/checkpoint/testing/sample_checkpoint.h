// Shared by the tests of this folder: a temporary folder, and a small snapshot with known values.
#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "checkpoint/save.h"

namespace troika {

/// A folder in memory if available, for tests that write thousands of files. A kill leaves the same
/// files there as on a disk.
inline std::filesystem::path fast_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm")
                                         : std::filesystem::temp_directory_path();
}

class TemporaryFolder {
 public:
  explicit TemporaryFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "troika-XXXXXX").string();
    TROIKA_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Every byte of tensor `index` at `step`.
inline std::byte sample_byte(std::int64_t step, std::size_t index, std::size_t at) {
  return static_cast<std::byte>((static_cast<std::size_t>(step) * 31 + index * 7 + at * 3 + 1) &
                                0xff);
}

/// Two files, three types, a scalar and an empty tensor; 60 bytes of values.
inline Snapshot sample_snapshot(std::int64_t step) {
  return {.step = step,
          .meta_json = R"({"optimizer":"sgd","cursor":{"epoch":1,"sample":640},"rate":0.05})",
          .tensors = {{"fc.weight", {{2, 3}, DType::f32}},
                      {"fc.bias", {{2}, DType::f64}},
                      {"empty", {{0, 4}, DType::f32}},
                      {"fc.weight.momentum", {{2}, DType::f32}, "optimizer.safetensors"},
                      {"counter", {{}, DType::i32}, "optimizer.safetensors"},
                      {"twice", {{}, DType::f64}, "optimizer.safetensors"}},
          .read = [step](std::size_t index, std::span<std::byte> bytes) {
            for (std::size_t at = 0; at < bytes.size(); ++at)
              bytes[at] = sample_byte(step, index, at);
          }};
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Overwrites without truncating first: some file systems sync a file that is truncated and written
/// again, and the tests do this often.
inline void write_text(const std::filesystem::path& path, std::string_view text) {
  const auto mode = std::filesystem::exists(path) ? std::ios::in | std::ios::out : std::ios::out;
  std::fstream(path, mode | std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  std::filesystem::resize_file(path, text.size());
}

/// A safetensors file with any header and this many zero bytes.
inline std::string safetensors_text(std::string_view header, std::size_t value_bytes) {
  const std::uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text.append(header).append(value_bytes, '\0');
}

}  // namespace troika
