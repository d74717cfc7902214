// Whether one operator can be cut and placed as a split says. Used by why_infeasible, and by what
// proposes splits one at a time.
#pragma once

#include <optional>
#include <string>

#include "strategy/tiles.h"

namespace troika {

/// An operator of the model with what is known of it.
struct SplitSubject {
  const Operator* op;
  const Signature* signature;
};

/// Where and how finely the split is to run.
struct SplitTerms {
  std::int64_t devices = 1;        ///< Of the machine.
  std::int64_t micro_batches = 1;  ///< Known to divide the batch.
};

/// A sentence that names the operator, the axis, why, and what would fit; nothing when it fits.
[[nodiscard]] std::optional<std::string> why_split_infeasible(const SplitSubject& subject,
                                                              const Split& split,
                                                              const SplitTerms& terms);

/// The extent of an axis that a split cuts: of one micro-batch, along the samples.
std::int64_t cut_extent(const Axis& axis, std::int64_t micro_batches);

/// The axis along which a batch is cut: called "n" and of kind sample; or -1.
int sample_axis(const Signature& signature);

}  // namespace troika
