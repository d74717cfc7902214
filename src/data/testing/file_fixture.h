// For tests: files of every format, made in a folder that disappears, and a data set read into
// plain values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace troika::data {

class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string path() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

std::string idx_file(const std::vector<std::uint32_t>& extents, const std::string& bytes);
/// `header` is the dictionary; it is padded as NumPy does.
std::string npy_file(const std::string& header, const std::string& bytes);
std::string gzip_file(const std::string& content);
/// `count` bytes that look random, from a small generator.
std::string scattered_bytes(std::size_t count, unsigned below = 256);

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// One sample: its "input" as floats (tokens too) and its "target".
struct Values {
  std::vector<float> input;
  std::vector<std::int32_t> target;
  bool operator==(const Values&) const = default;
};

Values read_sample(const Dataset& dataset, std::int64_t index, std::int64_t epoch = 0);
std::vector<Values> read_all(const Dataset& dataset);

/// A folder of the data that is not part of the tree (environment TROIKA_DATA, else ../shared/data
/// beside it), or an empty string.
std::string outside_folder(const std::string& name);

/// The message of the Error that f throws, or "" when it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace troika::data
