#include "data/testing/file_fixture.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>

namespace troika::data {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "troika-data-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& content) const {
  std::filesystem::create_directories((folder_ / name).parent_path());
  // A file that is overwritten in place is flushed by some file systems; a new one is not.
  std::filesystem::remove(folder_ / name);
  std::ofstream(folder_ / name, std::ios::binary) << content;
  return path(name);
}

std::string idx_file(const std::vector<std::uint32_t>& extents, const std::string& bytes) {
  std::string file{0, 0, 8, static_cast<char>(extents.size())};
  for (std::uint32_t extent : extents)
    for (int shift : {24, 16, 8, 0}) file += static_cast<char>(extent >> shift & 0xFF);
  return file + bytes;
}

std::string npy_file(const std::string& header, const std::string& bytes) {
  std::string padded = header;
  while ((10 + padded.size() + 1) % 64 != 0) padded += ' ';
  padded += '\n';
  std::string file = "\x93NUMPY";
  file += {1, 0, static_cast<char>(padded.size() & 0xFF), static_cast<char>(padded.size() >> 8)};
  return file + padded + bytes;
}

std::string gzip_file(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string scattered_bytes(std::size_t count, unsigned below) {
  std::string bytes;
  for (std::uint32_t state = 7; bytes.size() < count;) {
    state = state * 1664525U + 1013904223U;
    bytes += static_cast<char>((state >> 16) % below);
  }
  return bytes;
}

Values read_sample(const Dataset& dataset, std::int64_t index, std::int64_t epoch) {
  auto elements = [&](int field) {
    return static_cast<std::size_t>(dataset.fields()[field].spec.shape.elements());
  };
  bool floating = dataset.fields()[0].spec.dtype == DType::f32;
  Values values{std::vector<float>(elements(0)), std::vector<std::int32_t>(elements(1))};
  std::vector<std::int32_t> tokens(elements(0));
  auto input = floating ? std::as_writable_bytes(std::span(values.input))
                        : std::as_writable_bytes(std::span(tokens));
  std::vector<std::span<std::byte>> fields{input, std::as_writable_bytes(std::span(values.target))};
  dataset.read({.index = index, .epoch = epoch}, fields);
  if (!floating) values.input.assign(tokens.begin(), tokens.end());
  return values;
}

std::vector<Values> read_all(const Dataset& dataset) {
  std::vector<Values> all;
  for (std::int64_t i = 0; i < dataset.size(); ++i) all.push_back(read_sample(dataset, i));
  return all;
}

std::string outside_folder(const std::string& name) {
  const char* given = std::getenv("TROIKA_DATA");
  std::filesystem::path source =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  std::filesystem::path folder =
      given != nullptr ? given : source.parent_path() / "shared" / "data";
  std::error_code ignored;
  return std::filesystem::is_directory(folder / name, ignored) ? (folder / name).string() : "";
}

}  // namespace troika::data
