#include "data/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/file_bytes.h"

namespace troika::data {
namespace {

class TokenFile final : public TokenSource {
 public:
  TokenFile(const std::string& path, std::optional<std::int64_t> vocabulary)
      : file_(FileBytes::map(path)) {
    if (file_.size() == 0 || file_.size() % 2 != 0)
      throw file_error(
          path, file_.size(),
          fmt::format(
              "a token file holds whole 16-bit tokens, but this one has {} bytes; it is cut short, "
              "write it again",
              file_.size()));
    symbols_ = vocabulary ? *vocabulary : largest() + 1;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(file_.size() / 2); }
  std::int64_t symbols() const override { return symbols_; }

  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::int64_t at = first + static_cast<std::int64_t>(i);
      tokens[i] = token(at);
      // With vocabulary= the file was not scanned when it was opened.
      if (tokens[i] >= symbols_)
        throw file_error(
            file_.path(), static_cast<std::size_t>(at) * 2,
            fmt::format("token {} is not in the vocabulary of {}; correct vocabulary= or the file",
                        tokens[i], symbols_));
    }
  }

  void will_read(Range tokens) const override {
    file_.will_read(static_cast<std::size_t>(tokens.begin) * 2,
                    static_cast<std::size_t>(tokens.extent()) * 2);
  }

 private:
  std::int32_t token(std::int64_t index) const {
    auto at = static_cast<std::size_t>(index) * 2;
    // Little-endian u16, whatever the byte order of the machine.
    return std::to_integer<std::int32_t>(file_.bytes()[at]) |
           std::to_integer<std::int32_t>(file_.bytes()[at + 1]) << 8;
  }

  std::int64_t largest() const {
    std::int32_t most = 0;
    for (std::int64_t i = 0; i < size(); ++i) most = std::max(most, token(i));
    return most;
  }

  FileBytes file_;
  std::int64_t symbols_ = 0;
};

}  // namespace

std::unique_ptr<TokenSource> open_tokens(const std::string& path,
                                         std::optional<std::int64_t> vocabulary) {
  return std::make_unique<TokenFile>(path, vocabulary);
}

}  // namespace troika::data
