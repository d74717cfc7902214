// Images of a source as training samples: a range of them, augmented, normalised.
#pragma once

#include <array>
#include <memory>

#include "data/augmentation.h"
#include "data/dataset.h"
#include "data/image_source.h"
#include "tensor/region.h"

namespace troika::data {

class ImageDataset final : public Dataset {
 public:
  /// Precondition: `range` lies within the source and is not empty. Throws Error(usage) when the
  /// options do not fit.
  ImageDataset(std::unique_ptr<ImageSource> source, Range range, const OpenOptions& options);

  std::int64_t size() const override { return range_.extent(); }
  std::span<const Field> fields() const override { return fields_; }
  std::int64_t classes() const override { return source_->classes(); }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override;
  const Normalization* normalization() const override { return &normalization_; }

 private:
  std::unique_ptr<ImageSource> source_;
  Range range_;
  Augmentation augmentation_;
  Normalization normalization_;
  std::array<Field, 2> fields_;
};

}  // namespace troika::data
