#include "checkpoint/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "base/json_text.h"

namespace troika {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthWord = sizeof(std::uint64_t);
constexpr std::uint64_t kMaxHeader = 100'000'000;  // MAX_HEADER_SIZE of the reference reader.
constexpr std::size_t kHeaderDepth = 3;            // { tensor { shape [

/// Throws errors that name the file and, if any, the tensor being read.
class Complaint {
 public:
  explicit Complaint(std::string where) : where_(std::move(where)) {}
  Complaint about(const std::string& tensor) const {
    return Complaint(fmt::format("{}: tensor '{}'", where_, tensor));
  }

  [[noreturn]] void raise(const std::string& why) const {
    throw Error(ErrorKind::file,
                fmt::format("{}: {}; the file is damaged or not safetensors", where_, why));
  }

 private:
  std::string where_;
};

std::string_view header_text(std::span<const std::byte> file, const Complaint& complaint) {
  if (file.size() < kLengthWord)
    complaint.raise(fmt::format("it has {} bytes, too few for any header", file.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  // Checked before the text is touched, since a damaged length could be anything.
  if (length > kMaxHeader) {
    complaint.raise(
        fmt::format("it says its header has {} bytes, over the limit of {}", length, kMaxHeader));
  }
  if (length > file.size() - kLengthWord) {
    complaint.raise(
        fmt::format("it says its header has {} bytes, but the file has {}", length, file.size()));
  }
  return {reinterpret_cast<const char*>(file.data()) + kLengthWord,
          static_cast<std::size_t>(length)};
}

Metadata parse_metadata(const Json& json, const Complaint& complaint) {
  if (!json.is_object()) complaint.raise("its __metadata__ is not an object");
  Metadata metadata;
  for (const auto& [key, text] : json.items()) {
    if (!text.is_string()) complaint.raise(fmt::format("its __metadata__ '{}' is not text", key));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

std::vector<std::uint64_t> parse_counts(const Json& json, std::string_view what,
                                        const Complaint& complaint) {
  if (!json.is_array()) complaint.raise(fmt::format("its {} is not a list", what));
  std::vector<std::uint64_t> counts;
  for (const Json& count : json) {
    // Refuses negative and fractional numbers too.
    if (!count.is_number_unsigned())
      complaint.raise(fmt::format("its {} has {}, not a count", what, count.dump()));
    counts.push_back(count.get<std::uint64_t>());
  }
  return counts;
}

Shape parse_extents(const Json& json, const Complaint& complaint) {
  Shape shape;
  for (std::uint64_t extent : parse_counts(json, "shape", complaint)) {
    if (shape.rank() == kMaxRank)
      complaint.raise(fmt::format("its shape has more than {} dimensions", kMaxRank));
    // Shapes are signed.
    if (extent > std::numeric_limits<std::int64_t>::max())
      complaint.raise("its shape is too large");
    shape.push_back(static_cast<std::int64_t>(extent));
  }
  return shape;
}

/// Zero extents count as one in the overflow check, so that computing the strides cannot overflow
/// either.
std::uint64_t bytes_of(StoredType type, const Shape& shape, const Complaint& complaint) {
  auto bytes = static_cast<std::int64_t>(element_bytes(type));
  for (std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes)) {
      complaint.raise(fmt::format("its shape {} is too large", to_string(shape)));
    }
  }
  return std::ranges::find(shape, 0) == shape.end() ? static_cast<std::uint64_t>(bytes) : 0;
}

StoredType parse_type(const Json& json, const Complaint& complaint) {
  if (!json.is_string()) complaint.raise("its dtype is not text");
  const std::optional<StoredType> type = parse_stored_type(json.get<std::string>());
  if (!type) complaint.raise(fmt::format("its dtype {} is unknown", json.dump()));
  return *type;
}

/// Offsets are relative to the first tensor.
StoredTensor parse_tensor(const std::string& name, const Json& json, const Complaint& complaint) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    complaint.raise("it is not described by dtype, shape and data_offsets");
  }
  const std::vector<std::uint64_t> offsets =
      parse_counts(json["data_offsets"], "data_offsets", complaint);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    complaint.raise("its data_offsets are not a begin and an end");
  StoredTensor tensor{name, parse_type(json["dtype"], complaint),
                      parse_extents(json["shape"], complaint), offsets[0], offsets[1]};
  const std::uint64_t bytes = bytes_of(tensor.type, tensor.shape, complaint);
  if (tensor.end - tensor.begin != bytes) {
    complaint.raise(fmt::format("{}{} needs {} bytes, but its data_offsets hold {}",
                                to_string(tensor.type), to_string(tensor.shape), bytes,
                                tensor.end - tensor.begin));
  }
  return tensor;
}

/// Makes offsets relative to the start of the file and checks that the tensors fill it exactly.
void settle(SafetensorsHeader& header, std::uint64_t file_bytes, const Complaint& complaint) {
  // JSON objects have no order. Sorted by offset, "no gap and no overlap" is that each begins where
  // the one before ends; empty tensors come first at their offset.
  std::ranges::sort(header.tensors, {},
                    [](const StoredTensor& t) { return std::tie(t.begin, t.end, t.name); });
  const std::uint64_t start = header.bytes.size();
  const std::uint64_t room = file_bytes - start;
  std::uint64_t expected = 0;
  for (StoredTensor& tensor : header.tensors) {
    if (tensor.begin != expected) {
      complaint.about(tensor.name)
          .raise(fmt::format("it begins at {}, not where the one before it ends ({})", tensor.begin,
                             expected));
    }
    if (tensor.end > room) {
      complaint.about(tensor.name)
          .raise(fmt::format("it ends at {}, but the file holds {} bytes of tensors", tensor.end,
                             room));
    }
    expected = tensor.end;
    tensor.begin += start;
    tensor.end += start;
  }
  if (expected != room)
    complaint.raise(fmt::format("{} bytes follow the last tensor", room - expected));
}

static_assert(std::endian::native == std::endian::little,
              "tensors are stored in memory order, which the format defines as little-endian");

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
  // Stable, so that tensors of one type keep the order of the entries and every process computes
  // the same layout.
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t at) { return size_of(entries[at].spec.dtype); });
  return order;
}

/// Offsets are relative to the first tensor, because the size of the header is not known yet.
std::vector<StoredTensor> with_offsets(std::span<const TensorEntry> entries,
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

/// Pads the JSON with spaces to a multiple of 8, so that the tensors behind it are aligned.
std::string with_length_word(std::string json) {
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = json.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + json;
}

}  // namespace

SafetensorsHeader parse_header(std::span<const std::byte> file, const std::string& where) {
  const Complaint complaint(where);
  const std::string_view text = header_text(file, complaint);
  if (const auto fault = json_fault(text, kHeaderDepth))
    complaint.raise("its header is damaged: " + *fault);
  SafetensorsHeader header;
  header.bytes.assign(reinterpret_cast<const char*>(file.data()), kLengthWord + text.size());
  // Safe now: json_fault has checked syntax, depth and keys.
  const Json json = Json::parse(text);
  for (const auto& [name, member] : json.items()) {
    if (name == "__metadata__") {
      header.metadata = parse_metadata(member, complaint);
    } else {
      header.tensors.push_back(parse_tensor(name, member, complaint.about(name)));
    }
  }
  settle(header, file.size(), complaint);
  return header;
}

SafetensorsLayout lay_out(std::span<const TensorEntry> entries, const Metadata& metadata) {
  check_names(entries);
  SafetensorsLayout layout{.header = {.tensors = {}, .metadata = metadata, .bytes = {}},
                           .order = wide_elements_first(entries)};
  SafetensorsHeader& header = layout.header;
  header.tensors = with_offsets(entries, layout.order);
  header.bytes = with_length_word(header_json(header.tensors, metadata));
  // The JSON keeps offsets relative to the first tensor, as the format asks; in memory they are
  // relative to the file.
  for (StoredTensor& tensor : header.tensors) {
    tensor.begin += header.bytes.size();
    tensor.end += header.bytes.size();
  }
  return layout;
}

}  // namespace troika
