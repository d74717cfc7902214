#include "data/text.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "data/file_bytes.h"

namespace troika::data {
namespace {

/// The text stays in the mapped file. Characters differ in length, so the offset of every
/// kStride-th one is kept.
class Text final : public TokenSource {
 public:
  Text(const std::string& path, const std::optional<Vocabulary>& known)
      : file_(FileBytes::map(path)), vocabulary_(known ? scan(*known) : scan()) {}

  std::int64_t size() const override { return size_; }
  std::int64_t symbols() const override { return vocabulary_.size(); }
  const Vocabulary* vocabulary() const override { return &vocabulary_; }

  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    std::size_t at = offsets_[static_cast<std::size_t>(first / kStride)];
    for (std::int64_t skip = first % kStride; skip > 0; --skip) at += character_at(at).bytes;
    for (std::int32_t& token : tokens) {
      Utf8Character next = character_at(at);
      token = vocabulary_.token(next.character);
      // All characters were seen when the file was opened.
      if (token < 0)
        throw file_error(file_.path(), at,
                         "the text changed while it was open; leave it alone during a run");
      at += next.bytes;
    }
  }

  void will_read(Range characters) const override {
    auto last = static_cast<std::size_t>((characters.end + kStride - 1) / kStride);
    std::size_t begin = offsets_[static_cast<std::size_t>(characters.begin / kStride)];
    std::size_t end = last < offsets_.size() ? offsets_[last] : file_.size();
    file_.will_read(begin, end - begin);
  }

 private:
  // One offset of 8 bytes per 1,024 characters is under 1 % of the text; a read skips half a stride
  // on average.
  static constexpr std::int64_t kStride = 1024;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(file_.bytes().data()), file_.size()};
  }

  Utf8Character character_at(std::size_t at) const {
    auto next = decode_utf8(text().substr(at));
    if (!next) throw file_error(file_.path(), at, "the text is not UTF-8; convert it with iconv");
    return *next;
  }

  /// Counts the characters and notes the offset of some.
  template <class Visit>
  void scan_characters(Visit&& visit) {
    if (file_.size() == 0)
      throw file_error(file_.path(), 0, "the text is empty; give a file with text");
    for (std::size_t at = 0; at < file_.size(); ++size_) {
      if (size_ % kStride == 0) offsets_.push_back(at);
      Utf8Character next = character_at(at);
      visit(next.character, at);
      at += next.bytes;
    }
  }

  Vocabulary scan() {
    // One bit per code point: the number of different characters is not known in advance.
    std::vector<bool> seen(kCodePoints);
    scan_characters([&](char32_t character, std::size_t) { seen[character] = true; });
    std::vector<char32_t> characters;
    for (char32_t character = 0; character < kCodePoints; ++character)
      if (seen[character]) characters.push_back(character);
    return Vocabulary(std::move(characters));
  }

  Vocabulary scan(const Vocabulary& known) {
    scan_characters([&](char32_t character, std::size_t at) {
      if (known.token(character) >= 0) return;
      std::string shown;
      append_utf8(character, shown);
      throw file_error(
          file_.path(), at,
          fmt::format("the model does not know the character '{}': it was trained on a text "
                      "without it; replace it",
                      shown));
    });
    return known;
  }

  FileBytes file_;
  std::int64_t size_ = 0;
  std::vector<std::size_t> offsets_;
  // Last, because scan() fills the members above while it is initialised.
  Vocabulary vocabulary_;
};

}  // namespace

std::unique_ptr<TokenSource> open_text(const std::string& path,
                                       const std::optional<Vocabulary>& known) {
  return std::make_unique<Text>(path, known);
}

}  // namespace troika::data
