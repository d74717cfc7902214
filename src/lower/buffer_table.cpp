#include "lower/buffer_table.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "lower/place_buffers.h"

namespace troika {

std::size_t BufferRefHash::operator()(const BufferRef& ref) const {
  std::uint64_t first = static_cast<std::uint64_t>(ref.role) |
                        static_cast<std::uint64_t>(ref.copy) << 8 |
                        static_cast<std::uint64_t>(ref.part) << 16;
  std::uint64_t second = static_cast<std::uint64_t>(static_cast<std::uint32_t>(ref.of)) << 32 |
                         static_cast<std::uint32_t>(ref.index);
  return mix(first, second);
}

void BufferTable::set_versions(const Folding::Versions& versions) {
  versions_ = &versions;
  const auto* begin = versions.fragments.data() + plan_.distribution.outline.jobs.size() +
                      plan_.distribution.values.size();
  updates_version_ = 1;
  for (const auto* at = begin; at != begin + plan_.updates.size(); ++at)
    updates_version_ = std::max(updates_version_, *at);
}

std::int32_t BufferTable::number_of(const BufferRef& ref) {
  auto [known, is_new] = numbers_.try_emplace(ref, static_cast<std::int32_t>(all_.size()));
  if (is_new) all_.push_back({ref});
  return known->second;
}

const BufferMemory& BufferTable::operator[](std::int32_t buffer) {
  Known& known = all_[as_index(buffer)];
  std::uint64_t version = version_for(known.ref);
  if (known.version == version) return known.memory;
  known.version = version;
  BufferMemory memory = describe(buffer, BufferRef(known.ref));  // which may add buffers
  return all_[as_index(buffer)].memory = memory;
}

/// The version of the fragment that is emitted again whenever the buffer's description may have
/// changed.
std::uint64_t BufferTable::version_for(const BufferRef& ref) const {
  std::size_t values = plan_.distribution.outline.jobs.size();
  std::size_t updates = values + plan_.distribution.values.size();
  auto of = as_index(ref.of);
  switch (owner_of(ref.role)) {
    case BufferOwner::job:
      return versions_->fragments[of];
    case BufferOwner::value:
      return versions_->fragments[values + of];
    case BufferOwner::update:
      return versions_->fragments[updates + of];
    case BufferOwner::several_updates:
      return updates_version_;
    case BufferOwner::nothing:
      return 1;  // they never change
  }
  throw Bug("a buffer without an owner");
}

BufferMemory BufferTable::describe(std::int32_t buffer, const BufferRef& ref) {
  PlannedBuffer planned = here_.describe(ref);
  Bytes bytes =
      stored_bytes(planned.layout, planned.spec.shape, planned.spec.dtype) + planned.padding;
  BufferMemory made{.bytes = bytes.count,
                    .aligned = aligned(bytes).count,
                    .category = planned.category,
                    .persistent = planned.persistent};
  if (planned.persistent) {
    if (planned.layout != Layout::plain) made.plain = planned.spec.bytes();
    made.state = state_of(buffer, planned);
  }
  if (planned.view_of) made.view_of = number_of(*planned.view_of);
  return made;
}

/// Binding gives one name to zeros of one shape, and to those of a value in all micro-batches. Even
/// numbers are those of buffers.
std::int32_t BufferTable::state_of(std::int32_t buffer, const PlannedBuffer& planned) {
  const BufferRef& ref = planned.ref;
  if (ref.role >= BufferRole::zero_read && ref.role <= BufferRole::zero_number) {
    auto next = static_cast<std::int32_t>(2 * zeros_.size() + 1);
    return zeros_.try_emplace(to_string(planned.spec), next).first->second;
  }
  if (ref.role != BufferRole::value || ref.part == 0) return 2 * buffer;
  BufferRef first = ref;
  first.part = 0;
  return 2 * number_of(first);
}

}  // namespace troika
