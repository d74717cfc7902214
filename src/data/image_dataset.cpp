#include "data/image_dataset.h"

#include <cstring>
#include <utility>

namespace troika::data {

ImageDataset::ImageDataset(std::unique_ptr<ImageSource> source, Range range,
                           const OpenOptions& options)
    : source_(std::move(source)),
      range_(range),
      augmentation_(options.augment, source_->shape(), options.seed),
      normalization_(options.normalization ? *options.normalization : measure(*source_, range)),
      fields_{Field{"input", {source_->shape(), DType::f32}},
              Field{"target", {Shape{}, DType::i32}}} {
  check(normalization_, source_->channels());
}

void ImageDataset::read(Sample sample, std::span<const std::span<std::byte>> fields) const {
  TROIKA_CHECK(sample.index >= 0 && sample.index < size());
  TROIKA_CHECK_EQ(fields.size(), fields_.size());
  TROIKA_CHECK_EQ(static_cast<std::int64_t>(fields[0].size()), fields_[0].spec.bytes().count);
  TROIKA_CHECK_EQ(fields[1].size(), sizeof(std::int32_t));
  std::span<float> pixels(reinterpret_cast<float*>(fields[0].data()),
                          fields[0].size() / sizeof(float));
  source_->read_pixels(range_.begin + sample.index, pixels);
  augmentation_.apply(sample.index, sample.epoch, pixels);
  data::apply(normalization_, source_->channels(), pixels);
  std::int32_t label = source_->label(range_.begin + sample.index);
  std::memcpy(fields[1].data(), &label, sizeof label);
}

}  // namespace troika::data
