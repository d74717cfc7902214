// Each attribute struct lists its fields once (`static void fields(auto& self, auto&& visit)`).
// Text form, hash and kernel keys are derived from that list here.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/hash.h"

namespace troika {

/// An enum of an attribute struct defines `std::span<const std::string_view> enum_names(Enum)`.
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  enum_names(value);
};

void print_field(std::string& out, std::int64_t value);
void print_field(std::string& out, std::uint64_t value);
void print_field(std::string& out, double value);
void print_field(std::string& out, bool value);
void print_field(std::string& out, const std::vector<std::int64_t>& value);
void print_field(std::string& out, const std::array<std::int64_t, 2>& value);
template <NamedEnum T>
void print_field(std::string& out, T value) {
  out += enum_names(value)[static_cast<std::size_t>(value)];
}

/// These throw Error(file) that names the text if it does not parse.
void parse_field(std::string_view text, std::int64_t& value);
void parse_field(std::string_view text, std::uint64_t& value);
void parse_field(std::string_view text, double& value);
void parse_field(std::string_view text, bool& value);
void parse_field(std::string_view text, std::vector<std::int64_t>& value);
void parse_field(std::string_view text, std::array<std::int64_t, 2>& value);
[[noreturn]] void refuse_field(std::string_view text, std::string_view expected);
template <NamedEnum T>
void parse_field(std::string_view text, T& value) {
  auto names = enum_names(value);
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (names[at] == text) return void(value = static_cast<T>(at));
  }
  refuse_field(text, "the name of a choice");
}

/// Splits "a=1,b=[2,3]" into (key, value) pairs. Commas in brackets do not separate.
std::vector<std::pair<std::string_view, std::string_view>> split_fields(std::string_view text);

/// "linear{out=10}"; fields equal to their default are left out.
template <class Attributes>
std::string print_attributes(const Attributes& attributes) {
  std::string out(Attributes::kName);
  std::string inner;
  const Attributes defaults{};
  std::vector<std::string> plain;
  Attributes::fields(
      defaults, [&](const char*, const auto& value) { print_field(plain.emplace_back(), value); });
  std::size_t at = 0;
  Attributes::fields(attributes, [&](const char* name, const auto& value) {
    std::string text;
    print_field(text, value);
    if (text != plain[at++]) inner += (inner.empty() ? "" : ",") + std::string(name) + "=" + text;
  });
  return out + "{" + inner + "}";
}

/// The inverse; `inner` is the text between the braces.
template <class Attributes>
Attributes parse_attributes(std::string_view inner) {
  Attributes attributes;
  for (auto [key, text] : split_fields(inner)) {
    bool known = false;
    Attributes::fields(attributes, [&, key = key, text = text](const char* name, auto& value) {
      if (key == name) parse_field(text, value), known = true;
    });
    if (!known) refuse_field(key, std::string("a field of ") + std::string(Attributes::kName));
  }
  return attributes;
}

/// These add a field to a hash. Equal fields add the same, so the two zeros of a double do too.
inline std::uint64_t mix_field(std::uint64_t hash, double value) {
  return mix(hash, std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
}
template <class T>
requires std::is_integral_v<T> || std::is_enum_v<T> std::uint64_t mix_field(std::uint64_t hash,
                                                                            T value) {
  return mix(hash, static_cast<std::uint64_t>(value));
}
inline std::uint64_t mix_field(std::uint64_t hash, std::span<const std::int64_t> list) {
  hash = mix(hash, list.size());
  for (std::int64_t value : list) hash = mix(hash, static_cast<std::uint64_t>(value));
  return hash;
}

template <class Attributes>
std::uint64_t mix_attributes(std::uint64_t hash, const Attributes& attributes) {
  Attributes::fields(attributes,
                     [&](const char*, const auto& value) { hash = mix_field(hash, value); });
  return hash;
}

}  // namespace troika
