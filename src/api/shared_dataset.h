// A data set that a TrainingRun owns, over samples that it shares with the user's handles.
#pragma once

#include <memory>

#include "data/dataset.h"

namespace troika::internal {

class SharedDataset final : public data::Dataset {
 public:
  explicit SharedDataset(std::shared_ptr<const data::Dataset> shared)
      : shared_(std::move(shared)) {}

  std::int64_t size() const override { return shared_->size(); }
  const data::Encoding& encoding() const override { return shared_->encoding(); }
  void read(data::Sample sample, std::span<const std::span<std::byte>> fields) const override {
    shared_->read(sample, fields);
  }
  bool is_slow() const override { return shared_->is_slow(); }
  bool has_targets() const override { return shared_->has_targets(); }

 private:
  std::shared_ptr<const data::Dataset> shared_;
};

}  // namespace troika::internal
