#include "comm/heartbeat/wire.h"

#include <algorithm>

namespace troika {

WireWriter& WireWriter::text(std::string_view text, std::size_t longest) {
  text = text.substr(0, longest);
  number(static_cast<std::uint16_t>(text.size()));
  return raw(std::as_bytes(std::span(text)));
}

WireWriter& WireWriter::raw(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

std::string WireReader::text(std::size_t longest) {
  auto length = number<std::uint16_t>();
  // Checked before anything is allocated.
  if (length > longest) good_ = false;
  auto part = take(good_ ? length : 0);
  std::string text(part.size(), ' ');
  // Texts of a peer end up in logs and terminals: control characters are replaced.
  std::transform(part.begin(), part.end(), text.begin(), [](std::byte byte) {
    auto c = static_cast<unsigned char>(byte);
    return static_cast<char>(c < 0x20 || c == 0x7f ? '?' : c);
  });
  return text;
}

std::span<const std::byte> WireReader::take(std::size_t count) {
  if (!good_ || count > bytes_.size()) {
    good_ = false;
    return {};
  }
  auto part = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return part;
}

}  // namespace troika
