#include "checkpoint/safetensors_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>

#include "checkpoint/strict_json.h"

namespace troika {

namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are stored as they lie in memory");

void check_names(std::span<const TensorEntry> entries) {
  std::set<std::string_view> names;
  for (const TensorEntry& entry : entries) {
    if (entry.name.empty() || entry.name == "__metadata__") {
      throw Error(
          ErrorKind::usage,
          fmt::format("a tensor cannot be stored as '{}'; give it another name", entry.name));
    }
    if (!names.insert(entry.name).second) {
      throw Error(ErrorKind::usage,
                  fmt::format("two tensors are named '{}'; give each its own name", entry.name));
    }
  }
}

std::vector<std::size_t> wide_elements_first(std::span<const TensorEntry> entries) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t at) { return size_of(entries[at].spec.dtype); });
  return order;
}

/// Offsets are from the first tensor; the header's own size is not known yet.
std::vector<StoredTensor> place(std::span<const TensorEntry> entries,
                                std::span<const std::size_t> order) {
  std::vector<StoredTensor> tensors;
  std::uint64_t begin = 0;
  for (std::size_t at : order) {
    const auto& [name, spec] = entries[at];
    const std::uint64_t end = begin + static_cast<std::uint64_t>(spec.bytes().count);
    tensors.push_back({name, stored_type(spec.dtype), spec.shape, begin, end});
    begin = end;
  }
  return tensors;
}

std::string header_json(std::span<const StoredTensor> tensors, const Metadata& metadata) {
  std::vector<std::string> members;
  if (!metadata.empty()) {
    std::vector<std::string> notes;
    for (const auto& [key, text] : metadata)
      notes.push_back(json_quoted(key) + ":" + json_quoted(text));
    members.push_back(fmt::format(R"("__metadata__":{{{}}})", fmt::join(notes, ",")));
  }
  for (const StoredTensor& tensor : tensors) {
    members.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                                  json_quoted(tensor.name), to_string(tensor.type),
                                  to_string(tensor.shape), tensor.begin, tensor.end));
  }
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

std::string with_length_word(std::string json) {
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = json.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + json;
}

}  // namespace

SafetensorsLayout lay_out(std::span<const TensorEntry> entries, const Metadata& metadata) {
  check_names(entries);
  SafetensorsLayout layout{.header = {.tensors = {}, .metadata = metadata, .bytes = {}},
                           .order = wide_elements_first(entries)};
  SafetensorsHeader& header = layout.header;
  header.tensors = place(entries, layout.order);
  header.bytes = with_length_word(header_json(header.tensors, metadata));
  for (StoredTensor& tensor : header.tensors) {
    tensor.begin += header.bytes.size();
    tensor.end += header.bytes.size();
  }
  return layout;
}

}  // namespace troika
