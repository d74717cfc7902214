#include <fmt/format.h>
#include <troika/data.h>

#include "data/dataset.h"
#include "setup/hosts.h"

namespace troika::data {

std::int64_t Source::size() const { return dataset_->size(); }
std::int64_t Source::classes() const { return dataset_->classes(); }

std::vector<std::int64_t> Source::shape() const {
  const Shape& shape = dataset_->fields().front().spec.shape;
  return {shape.begin(), shape.end()};
}

Source open(const std::string& name, const SourceOptions& options) {
  OpenOptions made{.sequence_length = options.sequence_length,
                   .augment = options.augment,
                   .seed = options.seed,
                   .threads = usable_threads(),
                   .masked = options.masked};
  if (options.like) made.like = options.like->dataset()->encoding();
  return Source(open(std::string_view(name), made));
}

}  // namespace troika::data
