// Images or features as their format stores them, before normalisation, augmentation and ranges.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/picture.h"
#include "tensor/region.h"
#include "tensor/shape.h"

namespace troika::data {

/// Chooses the part of an image to use, given the size of the stored image.
using ChoosePart = std::function<Part(PictureSize)>;

/// Names that a format provides; empty if it has none.
struct SourceNames {
  std::vector<std::string> labels{};   ///< Of the classes.
  std::vector<std::string> columns{};  ///< Of the features.
  std::vector<std::string> targets{};  ///< Of the columns to predict.
};

/// Constant after construction: every member may be called from any thread at once.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual std::int64_t size() const = 0;
  /// [C,H,W], or [F] for plain feature vectors.
  virtual const Shape& shape() const = 0;
  virtual std::int64_t classes() const = 0;
  /// Whole-number formats of one byte are scaled to [0,1].
  virtual void read_pixels(std::int64_t index, std::span<float> pixels) const = 0;
  /// A part of the image, resized to shape(). Precondition: shape() is [C,H,W].
  virtual void read_part(std::int64_t index, const ChoosePart& choose,
                         std::span<float> pixels) const;
  /// In [0, classes()). Precondition: the target is a class.
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// True if an image takes so long to read that several threads should share the work.
  virtual bool is_slow() const { return false; }

  /// See Dataset::will_read.
  virtual void will_read(Range /*samples*/) const {}

  /// The number of values to predict; 0 if the target is a class.
  virtual std::int64_t numbers() const { return 0; }
  /// Precondition: the span has numbers() elements.
  virtual void read_numbers(std::int64_t /*index*/, std::span<float> /*numbers*/) const {}
  /// False for samples without a label or numbers, which are only to be predicted.
  virtual bool has_targets() const { return true; }
  virtual SourceNames names() const { return {}; }

  /// The number of consecutive parts of a sample that have their own mean and deviation: channels,
  /// or features.
  virtual std::size_t channels() const { return static_cast<std::size_t>(shape()[0]); }
};

/// More classes than any set has; a larger label means that the file is damaged.
inline constexpr std::int64_t kMaxClasses = 1 << 20;

/// The value of a pixel stored as one byte.
constexpr float scale_byte(std::uint8_t byte) { return static_cast<float>(byte) / 255.0F; }

}  // namespace troika::data
