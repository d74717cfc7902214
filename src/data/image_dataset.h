// Images or features of a source as training samples: a range of them, augmented, normalised.
#pragma once

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
  const Encoding& encoding() const override { return encoding_; }
  bool is_slow() const override { return source_->is_slow(); }
  bool has_targets() const override { return source_->has_targets(); }
  std::vector<std::int64_t> class_sizes() const override;
  std::int64_t window() const override { return window_; }
  void will_read(Range samples) const override {
    source_->will_read({range_.begin + samples.begin, range_.begin + samples.end});
  }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override;

 private:
  void read_pixels(Sample sample, std::span<float> pixels) const;
  void take(const Encoding& like);
  void read_target(std::int64_t index, std::span<std::byte> target) const;

  std::unique_ptr<ImageSource> source_;
  Range range_;
  Augmentation augmentation_;
  std::int64_t window_;
  Encoding encoding_;
};

}  // namespace troika::data
