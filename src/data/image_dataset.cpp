#include "data/image_dataset.h"

#include <cstring>
#include <utility>

namespace troika::data {

ImageDataset::ImageDataset(std::unique_ptr<ImageSource> source, Range range,
                           const OpenOptions& options)
    : source_(std::move(source)),
      range_(range),
      augmentation_(options.augment, source_->shape(), options.seed),
      encoding_{.fields = {Field{"input", {source_->shape(), DType::f32}},
                           Field{"target", {Shape{}, DType::i32}}},
                .classes = source_->classes(),
                .normalization = options.normalization,
                .labels = {source_->labels().begin(), source_->labels().end()}} {
  if (!encoding_.normalization) encoding_.normalization = measure(*source_, range);
  check(*encoding_.normalization, source_->channels());
  if (!options.like) return;
  encoding_.labels = options.like->labels;
  check_fit(*options.like, encoding_);
  encoding_.classes = options.like->classes;
}

std::vector<std::int64_t> ImageDataset::class_sizes() const {
  if (source_->labels().empty() || encoding_.labels.empty()) return {};
  std::vector<std::int64_t> sizes(encoding_.labels.size());
  for (std::int64_t index = range_.begin; index < range_.end; ++index)
    ++sizes[static_cast<std::size_t>(source_->label(index))];
  return sizes;
}

void ImageDataset::read_pixels(Sample sample, std::span<float> pixels) const {
  std::int64_t index = range_.begin + sample.index;
  if (!augmentation_.crops_at_random()) return source_->read_pixels(index, pixels);
  source_->read_part(
      index,
      [&](PictureSize image) {
        return augmentation_.random_part(sample.index, sample.epoch, image);
      },
      pixels);
}

void ImageDataset::read(Sample sample, std::span<const std::span<std::byte>> fields) const {
  TROIKA_CHECK(sample.index >= 0 && sample.index < size());
  TROIKA_CHECK_EQ(fields.size(), encoding_.fields.size());
  TROIKA_CHECK_EQ(static_cast<std::int64_t>(fields[0].size()),
                  encoding_.fields[0].spec.bytes().count);
  TROIKA_CHECK_EQ(fields[1].size(), sizeof(std::int32_t));
  std::span<float> pixels(reinterpret_cast<float*>(fields[0].data()),
                          fields[0].size() / sizeof(float));
  read_pixels(sample, pixels);
  augmentation_.apply(sample.index, sample.epoch, pixels);
  data::apply(*encoding_.normalization, source_->channels(), pixels);
  std::int32_t label = source_->label(range_.begin + sample.index);
  std::memcpy(fields[1].data(), &label, sizeof label);
}

}  // namespace troika::data
