#include <fmt/format.h>
#include <troika/data.h>
#include <troika/error.h>

#include "data/forwarding_dataset.h"
#include "data/held_out.h"
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
                   .normalize_targets = options.normalize_targets,
                   .augment = options.augment,
                   .seed = options.seed,
                   .threads = usable_threads(),
                   .masked = options.masked,
                   .unlabelled = options.unlabelled};
  if (options.like) made.like = options.like->dataset()->encoding();
  return Source(open(std::string_view(name), made));
}

TrainingParts hold_out(const Source& source, const std::string& part) {
  if (!is_part(part))
    throw Error(
        ErrorKind::usage,
        fmt::format("data::hold_out: \"{}\" is not a part; write \"10%\" or \"[0:500]\"", part));
  auto view = [&] { return std::make_unique<ForwardingDataset>(source.dataset()); };
  HeldOut parts = hold_out(std::string_view(part), {.augmented = view(), .plain = view()});
  return {Source(std::move(parts.train)), Source(std::move(parts.held_out))};
}

}  // namespace troika::data
