#include "data/image_dataset.h"

#include <algorithm>
#include <utility>

namespace troika::data {
namespace {

Field target_field(const ImageSource& source) {
  if (source.numbers() == 0) return {"target", {Shape{}, DType::i32}};
  return {"target", {{source.numbers()}, DType::f32}};
}

}  // namespace

ImageDataset::ImageDataset(std::unique_ptr<ImageSource> source, Range range,
                           const OpenOptions& options)
    : source_(std::move(source)),
      range_(range),
      augmentation_(options.augment, source_->shape(), options.seed),
      window_(options.window),
      encoding_{.fields = {Field{"input", {source_->shape(), DType::f32}}, target_field(*source_)},
                .classes = source_->classes(),
                .normalization = options.normalization} {
  // On the range and not on the whole source: the rest may be the samples of another set.
  if (!encoding_.normalization) encoding_.normalization = measure(*source_, range, options.threads);
  check(*encoding_.normalization, source_->channels());
  TROIKA_CHECK(has_targets() || options.like, "only a model says what is to be predicted");
  if (options.like) {
    take(*options.like);
    return;
  }
  // The output layer of given weights predicts in their unit, so that unit is kept if the targets
  // are the same kind of numbers.
  if (options.normalize_targets && encoding_.predicts_numbers())
    encoding_.target_normalization =
        options.weights_from && predict_alike(*options.weights_from, encoding_)
            ? options.weights_from->target_normalization
            : measure_targets(*source_, range);
  SourceNames names = source_->names();
  encoding_.labels = names.labels;
  encoding_.columns = names.columns;
  encoding_.targets = names.targets;
}

void ImageDataset::take(const Encoding& like) {
  encoding_.labels = like.labels;
  encoding_.columns = like.columns;
  encoding_.targets = like.targets;
  encoding_.target_normalization = like.target_normalization;
  // Without targets there is nothing to compare: the field of the model passes the check below.
  if (!has_targets() && like.find("target") != nullptr) encoding_.fields[1] = *like.find("target");
  check_fit(like, encoding_);
  // After the check, which refuses samples with more classes than the model has.
  encoding_.classes = like.classes;
}

std::vector<std::int64_t> ImageDataset::class_sizes() const {
  if (encoding_.labels.empty() || !has_targets()) return {};
  std::vector<std::int64_t> sizes(encoding_.labels.size());
  for (std::int64_t index = range_.begin; index < range_.end; ++index)
    ++sizes[static_cast<std::size_t>(source_->label(index))];
  return sizes;
}

void ImageDataset::read_pixels(Sample sample, std::span<float> pixels) const {
  std::int64_t index = range_.begin + sample.index;
  // A random crop is cut before the image is resized, so the source must make it.
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
  std::span<float> pixels(reinterpret_cast<float*>(fields[0].data()),
                          fields[0].size() / sizeof(float));
  read_pixels(sample, pixels);
  // Before normalisation, so that the border of a shifted image is 0 in the unit of the source.
  augmentation_.apply(sample.index, sample.epoch, pixels);
  data::apply(*encoding_.normalization, source_->channels(), pixels);
  read_target(range_.begin + sample.index, fields[1]);
}

void ImageDataset::read_target(std::int64_t index, std::span<std::byte> target) const {
  TROIKA_CHECK_EQ(static_cast<std::int64_t>(target.size()), encoding_.fields[1].spec.bytes().count);
  if (!has_targets()) return void(std::ranges::fill(target, std::byte{0}));
  if (!encoding_.predicts_numbers()) {
    elements_of<std::int32_t>(target)[0] = source_->label(index);
    return;
  }
  std::span<float> numbers = elements_of<float>(target);
  source_->read_numbers(index, numbers);
  if (encoding_.target_normalization)
    data::apply(*encoding_.target_normalization, numbers.size(), numbers);
}

}  // namespace troika::data
