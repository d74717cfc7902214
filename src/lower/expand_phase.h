// One phase of an operator on every tile of a micro-batch: what each tile reads is brought to it,
// and what it writes becomes a piece of a value.
#pragma once

#include <functional>

#include "lower/draft.h"

namespace troika {

struct PhaseOfOperator {
  const Operator& op;
  const Signature& signature;
  const PhaseSpec& phase;
  std::int64_t part = 0;
};

/// The value that a use of the phase reads, or adds its pieces to.
using ValueOfUse = std::function<Value&(const Use&)>;

/// Appends one task per tile; where the phase is a view, buffers and no task. What is written is
/// partial, with a term for each part of the axes that the phase runs along and the written tensor
/// lacks, or along which neighbouring tiles write the same elements (docs/design.md, Axes). Tiles
/// that differ only in axes that the phase does not run along do the same work, each where it is.
void expand_phase(Draft& draft, const PhaseOfOperator& expanded, const ValueOfUse& value_of);

}  // namespace troika
