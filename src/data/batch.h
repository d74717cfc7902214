// A batch of samples in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace troika::data {

/// One field of a batch: a row-major block [N,...] that begins at a cache line. Move-only.
class HostField {
 public:
  HostField(std::string name, TensorSpec spec);

  const std::string& name() const { return name_; }
  const TensorSpec& spec() const { return spec_; }
  std::span<std::byte> bytes() { return {bytes_.get(), size()}; }
  std::span<const std::byte> bytes() const { return {bytes_.get(), size()}; }
  std::span<std::byte> row(std::int64_t index);

  /// The elements; T must be the C++ type of spec().dtype.
  template <class T>
  std::span<const T> as() const {
    TROIKA_CHECK_EQ(static_cast<std::int64_t>(sizeof(T)), size_of(spec_.dtype).count);
    return {reinterpret_cast<const T*>(bytes_.get()), size() / sizeof(T)};
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Release {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };

  std::size_t size() const { return static_cast<std::size_t>(spec_.bytes().count); }

  std::string name_;
  TensorSpec spec_;
  std::unique_ptr<std::byte, Release> bytes_;
};

struct Batch {
  std::vector<HostField> fields;  ///< Those of the data set, then "weight" unless it is among them.
  std::int64_t samples = 0;    ///< Real samples, which come first; the rest is padding of weight 0.
                               ///< Counted over the whole batch, whatever rows are here.
  std::int64_t first_row = 0;  ///< The row of the batch that the fields begin with.
  std::int64_t first_position = 0;  ///< Of the first sample in the sampler's row.
  std::int64_t epoch = 0;           ///< Of the first sample.

  /// Allocates space for `rows` samples of the data set, with floating fields and weights in
  /// `floating` (f32 or f64).
  static Batch for_dataset(const Dataset& dataset, std::int64_t rows, DType floating);

  /// Precondition: there is a field with this name.
  const HostField& operator[](std::string_view name) const;
};

}  // namespace troika::data
