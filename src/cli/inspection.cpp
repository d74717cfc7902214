#include "cli/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "config/load_cluster.h"
#include "data/file_bytes.h"
#include "data/gzip.h"
#include "zoo/zoo.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCifarRecord = 1 + 3 * 32 * 32;
constexpr int kCifarClasses = 10;

/// A word and a colon. data::open knows which words are valid.
bool is_uri(const std::string& target) {
  std::size_t colon = target.find(':');
  return colon != std::string::npos && colon > 0 &&
         std::all_of(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Magic: two zero bytes, the element type, the number of dimensions.
bool looks_like_idx(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && bytes[0] == std::byte{0} && bytes[1] == std::byte{0} &&
         bytes[2] == std::byte{8} && bytes[3] >= std::byte{1} && bytes[3] <= std::byte{4};
}

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > 8 && bytes[8] == std::byte{'{'};
}

bool looks_like_cifar(std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() % kCifarRecord != 0) return false;
  for (std::size_t at = 0; at < bytes.size(); at += kCifarRecord)
    if (std::to_integer<int>(bytes[at]) >= kCifarClasses) return false;
  return true;
}

bool looks_like_text(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    auto next = decode_utf8(text);
    if (!next || next->character == 0) return false;
    text.remove_prefix(next->bytes);
  }
  return true;
}

[[noreturn]] void fail_unknown(const std::string& target, const std::string& why) {
  throw Error(
      ErrorKind::file,
      fmt::format("'{}' is {}; Troika knows run folders, checkpoints, .safetensors, run.toml, "
                  "cluster.toml, plan.json, costs.json, links.json, metrics.jsonl, IDX, "
                  "npy, CIFAR-10 and text files, and data sets "
                  "such as "
                  "digits:train",
                  target, why));
}

Inspection inspect_folder(const fs::path& folder) {
  auto has = [&](const char* name) { return fs::exists(folder / name); };
  if (has("run.toml")) return inspect_run_folder(folder);
  if (has("index.json")) return inspect_checkpoint(folder);
  if (has("latest")) return inspect_run_folder(folder.parent_path());
  for (const char* part : {"train", "t10k"})
    for (const char* ending : {"", ".gz"})
      if (has(fmt::format("{}-images-idx3-ubyte{}", part, ending).c_str()))
        return inspect_dataset("idx:" + folder.string());
  if (has("data_batch_1.bin")) return inspect_dataset("cifar10:" + folder.string());
  fail_unknown(folder.string(), "a folder with nothing that Troika knows");
}

/// By content if that is clear, by name otherwise.
Inspection inspect_file(const fs::path& path) {
  data::FileBytes file = data::FileBytes::map_or_inflate(path.string());
  std::span<const std::byte> bytes = file.bytes();
  if (bytes.empty()) fail_unknown(path.string(), "an empty file");
  if (looks_like_idx(bytes)) return inspect_array(path, "IDX array");
  if (as_text(bytes).starts_with("\x93NUMPY")) return inspect_array(path, "npy array");
  if (looks_like_safetensors(bytes)) return inspect_safetensors(path);
  if (path.extension() == ".toml")
    return looks_like_cluster(as_text(bytes)) ? inspect_cluster_file(path) : inspect_run_file(path);
  if (path.extension() == ".jsonl") return inspect_metrics(path);
  if (path.extension() == ".json") return inspect_json(path);
  if (looks_like_cifar(bytes)) return inspect_dataset("cifar10:" + path.string());
  if (looks_like_text(as_text(bytes))) return inspect_dataset("text:" + path.string());
  if (path.extension() == ".bin" && bytes.size() % 2 == 0)
    return inspect_dataset("tokens:" + path.string());
  fail_unknown(path.string(), "a file of an unknown kind");
}

}  // namespace

Inspection inspect(const std::string& target) {
  fs::path path(target);
  if (fs::is_directory(path)) return inspect_folder(path);
  if (fs::exists(path)) return inspect_file(path);
  if (is_uri(target)) return inspect_dataset(target);
  bool is_model = std::ranges::count(zoo::entries(), target, &zoo::Entry::name) > 0;
  throw Error(ErrorKind::file,
              fmt::format("'{0}' does not exist{1}", target,
                          is_model ? fmt::format("; did you mean: troika models {}", target) : ""));
}

}  // namespace troika::cli
