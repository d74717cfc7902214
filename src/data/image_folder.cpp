#include "data/image_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/number_text.h"
#include "data/class_folders.h"
#include "data/jpeg/jpeg.h"
#include "data/png/png.h"
#include "data/resize.h"
#include "data/worker_team.h"

namespace troika::data {
namespace {

constexpr std::int64_t kLongestSide = 1 << 13;

enum class PictureFormat { jpeg, png };

/// Decided by the first bytes, because file extensions are often wrong.
PictureFormat format_of(const FileBytes& file) {
  std::span<const std::byte> bytes = file.bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xFF\xD8\xFF")) return PictureFormat::jpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return PictureFormat::png;
  throw image_error(file.path(), text.empty() ? "the file is empty; fetch it again or remove it"
                                              : "neither a JPEG nor a PNG image; convert or remove "
                                                "it");
}

PictureSize size_of_file(const std::string& path) {
  FileBytes file = FileBytes::map(path);
  return format_of(file) == PictureFormat::jpeg ? jpeg_size(file) : png_size(file);
}

/// The least size of a whole image in which `part` still has as many pixels as `target`.
PictureSize least_size(PictureSize image, const Part& part, PictureSize target) {
  auto least = [](std::int64_t extent, double used, std::int64_t wanted) {
    // Never above 1: a decoder can leave detail out, but not add any.
    double scale = std::min(1.0, static_cast<double>(wanted) / used);
    // The small term keeps rounding from asking for one pixel more than needed.
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(extent) * scale - 1e-6));
  };
  return {least(image.width, part.width, target.width),
          least(image.height, part.height, target.height)};
}

/// The same part of an image that was decoded at another size.
Part scaled(const Part& part, PictureSize from, PictureSize to) {
  double x = static_cast<double>(to.width) / static_cast<double>(from.width);
  double y = static_cast<double>(to.height) / static_cast<double>(from.height);
  return {part.x * x, part.y * y, part.width * x, part.height * y};
}

class ImageFolder final : public ImageSource {
 public:
  ImageFolder(ClassFolders files, std::vector<std::string> labels, Shape shape)
      : files_(std::move(files)), labels_(std::move(labels)), shape_(shape) {
    for (const std::string& name : files_.classes()) class_numbers_.push_back(number_of(name));
  }

  std::int64_t size() const override { return files_.size(); }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override { return std::ssize(labels_); }
  SourceNames names() const override { return {.labels = labels_}; }
  bool is_slow() const override { return true; }

  std::int32_t label(std::int64_t index) const override {
    return class_numbers_[files_.class_of(index)];
  }

  void read_pixels(std::int64_t index, std::span<float> pixels) const override {
    read_part(
        index, [&](PictureSize image) { return centre_part(image, target()); }, pixels);
  }

  void read_part(std::int64_t index, const ChoosePart& choose,
                 std::span<float> pixels) const override {
    FileBytes file = FileBytes::map(files_.path(index));
    bool is_jpeg = format_of(file) == PictureFormat::jpeg;
    PictureSize whole = is_jpeg ? jpeg_size(file) : png_size(file);
    // The size comes first, from the header alone: a JPEG is decoded at the smallest size that
    // still has enough pixels for the part, which is much faster than decoding all of it.
    Part part = choose(whole);
    DecodeOptions options{.channels = shape_[0], .least = least_size(whole, part, target())};
    Picture picture = is_jpeg ? decode_jpeg(file, options) : decode_png(file, options);
    resize(view_of(picture), scaled(part, whole, picture.size), shape_, pixels);
  }

 private:
  PictureSize target() const { return {shape_[2], shape_[1]}; }

  std::int32_t number_of(const std::string& name) const {
    auto found = std::ranges::lower_bound(labels_, name);
    if (found == labels_.end() || *found != name)
      throw Error(ErrorKind::file,
                  fmt::format("the class folder '{}' is not known; the model knows {}", name,
                              fmt::join(labels_, ", ")));
    return static_cast<std::int32_t>(found - labels_.begin());
  }

  ClassFolders files_;
  std::vector<std::string> labels_;
  std::vector<std::int32_t> class_numbers_;  // Of each class folder.
  Shape shape_;
};

std::optional<std::int64_t> parse_side(std::string_view text) {
  auto side = parse_number<std::int64_t>(text);
  return side && *side >= 1 && *side <= kLongestSide ? side : std::nullopt;
}

/// "224" or "192x256", height first as in shapes.
std::optional<PictureSize> stated_size(const Uri& uri) {
  auto stated = uri.query.find("size");
  if (stated == uri.query.end()) return std::nullopt;
  std::string_view text = stated->second;
  std::size_t cross = text.find('x');
  auto height = parse_side(text.substr(0, cross));
  auto width = cross == std::string_view::npos ? height : parse_side(text.substr(cross + 1));
  if (!height || !width)
    throw Error(ErrorKind::usage, fmt::format("size must be a number of pixels up to {}, or "
                                              "HEIGHTxWIDTH, not '{}'",
                                              kLongestSide, text));
  return PictureSize{*width, *height};
}

std::optional<std::int64_t> stated_channels(const Uri& uri) {
  auto channels = number_in_query(uri, "channels");
  if (channels && *channels != 1 && *channels != 3)
    throw Error(ErrorKind::usage, fmt::format("channels must be 1 or 3, not {}", *channels));
  return channels;
}

/// The size that all images have.
PictureSize common_size(const ClassFolders& files, int threads) {
  PictureSize first = size_of_file(files.path(0));
  WorkerTeam team(threads);
  team.run(files.size(), [&](std::int64_t file, std::size_t) {
    PictureSize size = size_of_file(files.path(file));
    if (size == first) return;
    throw image_error(
        files.path(file),
        fmt::format("this image has {} x {} pixels, but '{}' has {} x {}; add "
                    "?size=HEIGHTxWIDTH to resize all of them",
                    size.width, size.height, files.path(0), first.width, first.height));
  });
  if (std::max(first.width, first.height) > kLongestSide)
    throw image_error(files.path(0), fmt::format("an image of {} x {} pixels is too large to train "
                                                 "on; add ?size=HEIGHTxWIDTH to resize all of them",
                                                 first.width, first.height));
  return first;
}

/// Taken from the query, else from options.like, else from the files.
Shape shape_of(const Uri& uri, const ClassFolders& files, const OpenOptions& options) {
  std::optional<PictureSize> size = stated_size(uri);
  std::optional<std::int64_t> channels = stated_channels(uri);
  const Field* input = options.like ? options.like->find("input") : nullptr;
  if (input != nullptr && input->spec.shape.rank() == 3) {
    const Shape& shape = input->spec.shape;
    if (!size) size = PictureSize{shape[2], shape[1]};
    bool is_possible = shape[0] == 1 || shape[0] == 3;
    if (!channels && is_possible) channels = shape[0];
  }
  if (!size) size = common_size(files, options.threads);
  return {channels.value_or(3), size->height, size->width};
}

/// A build without one of the decoders refuses the files here instead of in the middle of a run.
void check_decoders(const ClassFolders& files, int threads) {
  if (built_with_jpeg() && built_with_png()) return;
  WorkerTeam team(threads);
  team.run(files.size(), [&](std::int64_t file, std::size_t) { size_of_file(files.path(file)); });
}

}  // namespace

std::unique_ptr<ImageSource> open_image_folder(const Uri& uri, const OpenOptions& options) {
  ClassFolders files(uri.path);
  check_decoders(files, options.threads);
  Shape shape = shape_of(uri, files, options);
  bool has_names = options.like && !options.like->labels.empty();
  std::vector<std::string> labels = has_names ? options.like->labels : files.classes();
  return std::make_unique<ImageFolder>(std::move(files), std::move(labels), shape);
}

}  // namespace troika::data
