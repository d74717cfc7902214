#include "data/idx.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "data/array_images.h"

namespace troika::data {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::byte kUnsignedByte{0x08};

/// Extents are big-endian.
std::int64_t read_extent(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::byte b : bytes.subspan(offset, 4))
    value = value << 8 | std::to_integer<std::uint32_t>(b);
  return value;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// The file of one role ("images", "labels"), as the various distributors name it.
std::optional<std::string> find_file(const std::string& prefix, const std::string& role) {
  std::string kind = role == "images" ? "idx3-ubyte" : "idx1-ubyte";
  for (const char* join : {"-", "."})
    for (const char* packed : {"", ".gz"})
      if (std::string path = prefix + "-" + role + join + kind + packed; exists(path)) return path;
  return std::nullopt;
}

std::string choose_prefix(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  std::string train = (std::filesystem::path(path) / "train").string();
  std::string test = (std::filesystem::path(path) / "t10k").string();
  return !find_file(train, "images") && find_file(test, "images") ? test : train;
}

std::string require_file(const std::string& prefix, const std::string& role) {
  if (auto path = find_file(prefix, role)) return *path;
  throw Error(ErrorKind::file,
              fmt::format("{0}-{1}-{2}: no such file, plain or .gz; give a folder with the MNIST "
                          "files or a prefix such as "
                          "DIR/t10k",
                          prefix, role, role == "images" ? "idx3-ubyte" : "idx1-ubyte"));
}

}  // namespace

ArrayFile read_idx(const std::string& path) {
  ArrayFile array{
      .file = FileBytes::map_or_inflate(path), .element = Element::u8, .shape = {}, .offset = 0};
  std::span<const std::byte> bytes = array.file.bytes();
  if (bytes.size() < kMagicBytes || bytes[0] != std::byte{0} || bytes[1] != std::byte{0})
    throw file_error(path, 0,
                     "not an IDX file (it does not begin with two zero bytes); check the path or "
                     "fetch the file again");
  if (bytes[2] != kUnsignedByte)
    throw file_error(path, 2,
                     fmt::format("the element type is {:#04x}, but only unsigned bytes (0x08) are "
                                 "read; convert the file",
                                 std::to_integer<int>(bytes[2])));
  // Magic: 0, 0, element type, rank; then one extent of 4 bytes per dimension.
  auto rank = std::to_integer<std::size_t>(bytes[3]);
  array.offset = kMagicBytes + 4 * rank;
  if (rank < 1 || rank > 4 || bytes.size() < array.offset)
    throw file_error(
        path, 3,
        fmt::format(
            "the header states {} dimensions in a file of {} bytes; IDX data sets have 1 to 4, "
            "fetch the file again",
            rank, bytes.size()));
  for (std::size_t dim = 0; dim < rank; ++dim)
    array.shape.push_back(read_extent(bytes, kMagicBytes + 4 * dim));
  check_size(array);
  return array;
}

std::unique_ptr<ImageSource> open_idx(const std::string& path) {
  std::string prefix = choose_prefix(path);
  std::string images = require_file(prefix, "images");
  std::string labels = require_file(prefix, "labels");
  return pair_arrays(read_idx(images), read_idx(labels));
}

}  // namespace troika::data
