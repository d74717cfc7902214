#include "config/nesting.h"

namespace troika::config {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<TextPosition> find_deep() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '#') {
        skip_comment();
      } else if (c == '"' || c == '\'') {
        skip_string(c);
      } else {
        count(c);
        advance(1);
      }
      if (depth_ > kDeepestBrackets || dots_ > kMostDots) return position_;
    }
    return std::nullopt;
  }

 private:
  void count(char c) {
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    // Dots count within one key. A dot in a number counts too, which is far below the limit.
    bool ends_key = c == '[' || c == '{' || c == '=' || c == ',' || c == '\n';
    if (ends_key) dots_ = 0;
    if (c == '.') ++dots_;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') advance(1);
  }

  void skip_string(char quote) {
    std::string_view three = quote == '"' ? R"(""")" : "'''";
    bool many_lines = text_.substr(at_, 3) == three;
    std::string_view end = many_lines ? three : three.substr(0, 1);
    advance(end.size());
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      // Not closed on its line: a syntax error, which the parser reports.
      if (!many_lines && text_[at_] == '\n') return;
      // Only strings in double quotes have escapes.
      advance(quote == '"' && text_[at_] == '\\' ? 2 : 1);
    }
    advance(end.size());
    // """a""""" is legal: up to two quotes may stand before the closing three.
    for (int extra = 0; many_lines && extra < 2 && next_is(quote); ++extra) advance(1);
  }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  void advance(std::size_t characters) {
    for (; characters > 0 && at_ < text_.size(); --characters, ++at_) {
      ++position_.column;
      if (text_[at_] == '\n') position_ = {position_.line + 1, 1};
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  TextPosition position_;
  int depth_ = 0;
  int dots_ = 0;
};

}  // namespace

std::optional<TextPosition> find_deep_nesting(std::string_view text) {
  return Scanner(text).find_deep();
}

}  // namespace troika::config
