#include "data/cifar10.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "data/file_bytes.h"

namespace troika::data {
namespace {

constexpr std::int64_t kClasses = 10;
// One byte of label, then the planes red, green and blue of 32 rows each: [C,H,W] as it stands.
constexpr std::size_t kRecord = 1 + 3 * 32 * 32;

class Cifar10 final : public ImageSource {
 public:
  explicit Cifar10(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      files_.push_back(FileBytes::map(path));
      check_records(files_.back());
      ends_.push_back(size() + static_cast<std::int64_t>(files_.back().size() / kRecord));
    }
  }

  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override { return kClasses; }

  void read_pixels(std::int64_t index, std::span<float> pixels) const override {
    std::ranges::transform(record(index).subspan(1), pixels.begin(), [](std::byte b) {
      return scale_byte(std::to_integer<std::uint8_t>(b));
    });
  }

  std::int32_t label(std::int64_t index) const override {
    return std::to_integer<std::int32_t>(record(index)[0]);
  }

 private:
  static void check_records(const FileBytes& file) {
    std::size_t rest = file.size() % kRecord;
    if (file.size() == 0 || rest != 0)
      throw file_error(file.path(), file.size() - rest,
                       fmt::format("a CIFAR-10 record has {} bytes, but {} are left; the file is "
                                   "cut short, fetch it again",
                                   kRecord, rest));
    // The format has no magic, so labels are the only sign that this is another file.
    for (std::size_t at = 0; at < file.size(); at += kRecord)
      if (auto label = std::to_integer<int>(file.bytes()[at]); label >= kClasses)
        throw file_error(
            file.path(), at,
            fmt::format(
                "label {} is above 9; this is not CIFAR-10 or it is damaged, fetch it again",
                label));
  }

  std::span<const std::byte> record(std::int64_t index) const {
    auto end = std::ranges::upper_bound(ends_, index);
    std::int64_t first = end == ends_.begin() ? 0 : *(end - 1);
    const FileBytes& file = files_[static_cast<std::size_t>(end - ends_.begin())];
    return file.bytes().subspan(static_cast<std::size_t>(index - first) * kRecord, kRecord);
  }

  std::vector<FileBytes> files_;
  std::vector<std::int64_t> ends_;  // The number of images up to the end of each file.
  Shape shape_{3, 32, 32};
};

std::vector<std::string> batches_in(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  for (int batch = 1; batch <= 5; ++batch)
    paths.push_back((folder / fmt::format("data_batch_{}.bin", batch)).string());
  return paths;
}

}  // namespace

std::unique_ptr<ImageSource> open_cifar10(const std::string& path) {
  std::filesystem::path place(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(place, ignored))
    return std::make_unique<Cifar10>(batches_in(place));
  bool within_folder = std::filesystem::is_directory(place.parent_path(), ignored);
  if (within_folder && place.filename() == "train")
    return std::make_unique<Cifar10>(batches_in(place.parent_path()));
  if (within_folder && place.filename() == "test")
    return std::make_unique<Cifar10>(
        std::vector{(place.parent_path() / "test_batch.bin").string()});
  return std::make_unique<Cifar10>(std::vector{path});
}

}  // namespace troika::data
