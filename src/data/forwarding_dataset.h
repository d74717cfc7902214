// The base of data sets that change some part of another one. Every virtual function of Dataset is
// forwarded here and nowhere else, so a wrapper overrides only what it changes.
#pragma once

#include <memory>
#include <utility>

#include "data/dataset.h"

namespace troika::data {

/// Used as it is, a data set that a run owns over samples that it shares with others.
class ForwardingDataset : public Dataset {
 public:
  /// Shared: the handles of a user's program may refer to the same samples.
  explicit ForwardingDataset(std::shared_ptr<const Dataset> whole) : whole_(std::move(whole)) {}

  std::int64_t size() const override { return whole_->size(); }
  const Encoding& encoding() const override { return whole_->encoding(); }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override {
    whole_->read(sample, fields);
  }
  bool is_slow() const override { return whole_->is_slow(); }
  std::int64_t window() const override { return whole_->window(); }
  void will_read(Range samples) const override { whole_->will_read(samples); }
  std::vector<std::int64_t> class_sizes() const override { return whole_->class_sizes(); }
  bool has_targets() const override { return whole_->has_targets(); }

 private:
  std::shared_ptr<const Dataset> whole_;
};

}  // namespace troika::data
