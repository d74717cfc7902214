#include "checkpoint/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/json_text.h"

namespace troika {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kVersion = 1;
// Levels of nesting. The meta object is one level below the index itself.
constexpr std::size_t kMaxDepth = 64;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::file, why); }

/// The end of the file: a checksum of all bytes before it.
std::string seal(std::string_view body) {
  return fmt::format("  \"checksum\": \"{}\"\n}}\n", hex(checksum(std::as_bytes(std::span(body)))));
}

std::string block(std::string_view key, const std::vector<std::string>& lines) {
  return fmt::format("  \"{}\": {{\n    {}\n  }},\n", key, fmt::join(lines, ",\n    "));
}

std::string tensor_line(const IndexedTensor& tensor) {
  return fmt::format(R"({}: {{"file": {}, "dtype": "{}", "shape": {}, "checksum": "{}"}})",
                     json_quoted(tensor.name), json_quoted(tensor.file),
                     to_string(tensor.spec.dtype), to_string(tensor.spec.shape),
                     hex(tensor.checksum));
}

std::string file_line(const IndexedFile& file) {
  return fmt::format(R"({}: {{"header_checksum": "{}"}})", json_quoted(file.name),
                     hex(file.header_checksum));
}

std::uint64_t parse_hex(const OrderedJson& json) {
  const auto text = json.get<std::string>();
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  // Refuses signs, capitals and other lengths as well as what from_chars does not read.
  if (hex(value) != text) refuse(fmt::format("'{}' is not a checksum", text));
  return value;
}

TensorSpec parse_spec(const OrderedJson& json) {
  return {parse_shape(json.at("shape").dump()), parse_dtype(json.at("dtype").get<std::string>())};
}

Index read_members(const OrderedJson& json) {
  if (json.at("version") != kVersion) {
    refuse(fmt::format(
        "its format version is {}, and this Troika reads {}; use the Troika that wrote it",
        json.at("version").dump(), kVersion));
  }
  Index index{.step = json.at("step").get<std::int64_t>(),
              .files = {},
              .tensors = {},
              .meta_json = json.at("meta").dump()};
  for (const auto& [name, file] : json.at("files").items()) {
    if (!is_plain_file_name(name)) refuse(fmt::format("'{}' is not a file of a checkpoint", name));
    index.files.push_back({name, parse_hex(file.at("header_checksum"))});
  }
  // ordered_json keeps the order of the file, which is that of the snapshot.
  for (const auto& [name, tensor] : json.at("tensors").items()) {
    index.tensors.push_back({name, parse_spec(tensor), tensor.at("file").get<std::string>(),
                             parse_hex(tensor.at("checksum"))});
  }
  return index;
}

/// Compares the end of the file with what to_text would have written there.
void check_seal(std::string_view text) {
  // All seals have the same length, because a checksum always has 16 digits.
  const std::size_t body_size = text.size() - std::min(text.size(), seal("").size());
  if (text.substr(body_size) != seal(text.substr(0, body_size))) {
    refuse("its checksum does not match its content: it was cut or changed");
  }
}

}  // namespace

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

bool is_plain_file_name(std::string_view name) {
  return name.ends_with(".safetensors") && name.front() != '.' && name.find('/') == name.npos;
}

// Written by hand, one tensor per line, so that the bytes under the checksum do not depend on the
// version of the JSON library and the file is easy to read.
std::string to_text(const Index& index) {
  if (const auto fault = json_fault(index.meta_json, kMaxDepth - 1)) {
    throw Error(ErrorKind::usage,
                fmt::format("the meta object of the checkpoint of step {} cannot be stored: {}",
                            index.step, *fault));
  }
  std::vector<std::string> files;
  for (const IndexedFile& file : index.files) files.push_back(file_line(file));
  std::vector<std::string> tensors;
  for (const IndexedTensor& tensor : index.tensors) tensors.push_back(tensor_line(tensor));
  std::string body =
      fmt::format("{{\n  \"format\": \"troika checkpoint\",\n  \"version\": {},\n  \"step\": {},\n",
                  kVersion, index.step);
  body += block("files", files) + block("tensors", tensors);
  body += fmt::format("  \"meta\": {},\n", OrderedJson::parse(index.meta_json).dump());
  return body + seal(body);
}

Index parse_index(std::string_view text, const std::string& where) {
  try {
    // First the checksum: everything behind it may assume a file that to_text wrote, and damage is
    // reported as damage, not as a syntax error.
    check_seal(text);
    if (const auto fault = json_fault(text, kMaxDepth)) refuse(*fault);
    return read_members(OrderedJson::parse(text));
  } catch (const Error& fault) {
    throw Error(ErrorKind::file, fmt::format("{}: {}", where, fault.what()));
  } catch (const OrderedJson::exception& fault) {
    throw Error(ErrorKind::file, fmt::format("{}: it is not a checkpoint index: {}", where,
                                             json_reason(fault.what())));
  }
}

}  // namespace troika
