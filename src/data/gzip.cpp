#include "data/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "data/file_bytes.h"

namespace troika::data {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, and a gzip header is required.
// zlib counts in unsigned int, so longer buffers are passed in pieces.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

class Inflater {
 public:
  Inflater(std::span<const std::byte> packed, const std::string& path, std::size_t limit)
      : rest_(packed), size_(packed.size()), path_(path), limit_(limit) {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK)
      throw Error(ErrorKind::memory,
                  "not enough memory to unpack '" + path + "'; unpack it with gunzip first");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  std::vector<std::byte> run() {
    while (!finish_member()) continue;
    result_.resize(produced_);
    return std::move(result_);
  }

 private:
  /// Unpacks a little more; true when the last member has ended.
  bool finish_member() {
    if (produced_ == result_.size()) grow();
    int status = step();
    // A gzip file may consist of several members, one after the other, and end with zeros as
    // padding.
    if (status == Z_STREAM_END) {
      if (only_padding_left()) return true;
      inflateReset(&stream_);
      // Z_BUF_ERROR means that no progress was possible, which more room may solve.
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw damaged(stream_.msg != nullptr ? stream_.msg : "not a gzip stream");
      // With room left, only missing input can stop the stream.
    } else if (rest_.empty() && produced_ < result_.size()) {
      throw damaged("the file is cut short");
    }
    return false;
  }

  int step() {
    auto input = std::min(rest_.size(), kMostAtOnce);
    auto output = std::min(result_.size() - produced_, kMostAtOnce);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(input);
    stream_.next_out = reinterpret_cast<Bytef*>(result_.data() + produced_);
    stream_.avail_out = static_cast<uInt>(output);
    int status = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(input - stream_.avail_in);
    produced_ += output - stream_.avail_out;
    return status;
  }

  void grow() {
    if (produced_ >= limit_)
      throw file_error(path_, size_ - rest_.size(),
                       fmt::format("unpacks to more than {} bytes; unpack it with gunzip first, "
                                   "plain files may be any size",
                                   limit_));
    // The size at the end of a gzip file is that of one member modulo 2^32, so it is not used.
    result_.resize(std::min(limit_, std::max<std::size_t>(1 << 16, 2 * produced_)));
  }

  bool only_padding_left() const {
    return std::ranges::all_of(rest_, [](std::byte b) { return b == std::byte{0}; });
  }

  Error damaged(const std::string& why) const {
    return file_error(path_, size_ - rest_.size(),
                      "damaged gzip data (" + why + "); fetch the file again");
  }

  std::span<const std::byte> rest_;
  std::size_t size_;
  const std::string& path_;
  std::size_t limit_;
  std::vector<std::byte> result_;
  std::size_t produced_ = 0;
  z_stream stream_{};
};

}  // namespace

bool looks_like_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::vector<std::byte> inflate_gzip(std::span<const std::byte> packed, const std::string& path,
                                    std::size_t limit) {
  return Inflater(packed, path, limit).run();
}

}  // namespace troika::data
