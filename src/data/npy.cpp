#include "data/npy.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/number_text.h"
#include "data/array_images.h"

namespace troika::data {
namespace {

// Magic, version (major, minor), length of the header, header, numbers. The format:
// numpy.lib.format. Version 1 has a length of 2 bytes, later ones of 4.
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionAt = 6;
constexpr std::size_t kLengthAt = 8;

std::string_view type_name(Element element) {
  switch (element) {
    case Element::u8:
      return "|u1";
    case Element::i32:
      return "<i4";
    case Element::i64:
      return "<i8";
    case Element::f32:
      return "<f4";
    case Element::f64:
      return "<f8";
  }
  return {};
}

/// The header: a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2,
/// 3), }
class HeaderScanner {
 public:
  HeaderScanner(const std::string& path, std::string_view text, std::size_t offset)
      : path_(path), text_(text), offset_(offset) {}

  void scan(ArrayFile& array) {
    expect('{');
    while (!accept('}')) {
      scan_entry(array);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) throw bad("text after the dictionary");
    if (!seen_type_ || !seen_order_ || !seen_shape_)
      throw bad("one of descr, fortran_order and shape is missing");
  }

 private:
  void scan_entry(ArrayFile& array) {
    std::string_view key = quoted();
    expect(':');
    // A key that comes twice is refused like an unknown one: the file is not from NumPy.
    if (key == "descr" && !seen_type_) {
      seen_type_ = true;
      array.element = element();
    } else if (key == "fortran_order" && !seen_order_) {
      seen_order_ = true;
      order();
    } else if (key == "shape" && !seen_shape_) {
      seen_shape_ = true;
      array.shape = shape();
    } else {
      throw bad("an unexpected key");
    }
  }

  Element element() {
    std::string_view name = quoted();
    for (Element known : {Element::u8, Element::i32, Element::i64, Element::f32, Element::f64})
      if (name == type_name(known)) return known;
    throw bad("element type '" + printable(name) +
              "' is not one of |u1, <i4, <i8, <f4, <f8; convert it with astype");
  }

  void order() {
    skip_space();
    std::string_view rest = text_.substr(at_);
    if (rest.starts_with("True"))
      throw bad("the array is in Fortran order; save numpy.ascontiguousarray(a)");
    if (!rest.starts_with("False")) throw bad("fortran_order is neither True nor False");
    at_ += 5;
  }

  Shape shape() {
    Shape result;
    expect('(');
    while (!accept(')')) {
      if (result.rank() == kMaxRank) throw bad("more than eight dimensions");
      result.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  std::int64_t number() {
    skip_space();
    std::string_view rest = text_.substr(at_);
    auto value = take_number<std::int64_t>(rest);
    if (!value || *value < 0) throw bad("an extent is not a number >= 0");
    at_ = text_.size() - rest.size();
    return *value;
  }

  std::string_view quoted() {
    expect('\'');
    std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) throw bad("a quote is not closed");
    std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw bad(fmt::format("'{}' is missing", c));
  }

  static std::string printable(std::string_view text) {
    std::string result;
    for (char c : text.substr(0, 16)) result += c >= ' ' && c <= '~' ? c : '?';
    return result;
  }

  Error bad(const std::string& why) const {
    return file_error(
        path_, offset_ + at_,
        "the npy header cannot be used (" + why + "); write the file again with numpy.save");
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t offset_;
  std::size_t at_ = 0;
  bool seen_type_ = false;
  bool seen_order_ = false;
  bool seen_shape_ = false;
};

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | std::to_integer<std::size_t>(bytes[i - 1]);
  return value;
}

Channels channels_of(const Uri& uri) {
  auto stated = uri.query.find("channels");
  if (stated == uri.query.end()) return Channels::unstated;
  if (stated->second == "first") return Channels::first;
  if (stated->second == "last") return Channels::last;
  throw Error(ErrorKind::usage,
              fmt::format("channels must be 'first' or 'last', not '{}'", stated->second));
}

}  // namespace

ArrayFile read_npy(const std::string& path) {
  ArrayFile array{.file = FileBytes::map(path), .element = Element::u8, .shape = {}, .offset = 0};
  std::span<const std::byte> bytes = array.file.bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    throw file_error(path, 0,
                     "not an npy file (it does not begin with \\x93NUMPY); check the path");
  // No array is shorter, so one check covers the length fields of all versions.
  if (bytes.size() < kLengthAt + 4)
    throw file_error(path, bytes.size(), "the npy header is cut short; write the file again");
  auto version = std::to_integer<int>(bytes[kVersionAt]);
  if (version < 1 || version > 3 || bytes[kVersionAt + 1] != std::byte{0})
    throw file_error(
        path, kVersionAt,
        fmt::format("npy version {} is not known; save it with a current NumPy", version));
  std::size_t width = version == 1 ? 2 : 4;
  std::size_t begin = kLengthAt + width;
  std::size_t length = little_endian(bytes.subspan(kLengthAt, width));
  if (length > bytes.size() - begin)
    throw file_error(
        path, kLengthAt,
        fmt::format("the npy header claims {} bytes, but {} follow; write the file again", length,
                    bytes.size() - begin));
  HeaderScanner(path, text.substr(begin, length), begin).scan(array);
  array.offset = begin + length;
  if (array.shape.rank() == 0)
    throw file_error(path, begin, "the array is a single number; give one entry per sample");
  check_size(array);
  return array;
}

std::string npy_header(Element element, const Shape& shape) {
  constexpr std::size_t kAlignment = 64, kFixed = kLengthAt + 2;
  std::string extents;
  for (std::int64_t extent : shape) extents += fmt::format("{}, ", extent);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 type_name(element), extents);
  // Padded so that the numbers begin at a multiple of 64, as NumPy writes them for mapping. The
  // last byte of the padding is the line break.
  text.resize((kFixed + text.size() + kAlignment) / kAlignment * kAlignment - kFixed - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

std::unique_ptr<ImageSource> open_npy(const Uri& uri, const OpenOptions& options) {
  const std::string& paths = uri.path;
  std::size_t comma = paths.find(',');
  if (options.unlabelled && comma == std::string::npos)
    return pair_arrays(read_npy(paths), std::nullopt, channels_of(uri));
  if (comma == std::string::npos || paths.find(',', comma + 1) != std::string::npos || comma == 0 ||
      comma + 1 == paths.size())
    throw Error(ErrorKind::usage,
                fmt::format("npy:{}: give two files, npy:images.npy,labels.npy", paths));
  ArrayFile images = read_npy(paths.substr(0, comma));
  ArrayFile labels = read_npy(paths.substr(comma + 1));
  return pair_arrays(std::move(images), std::move(labels), channels_of(uri));
}

}  // namespace troika::data
