#include "train/feeds.h"

#include "base/hash.h"
#include "base/random.h"

namespace troika {

void fill_feed(const zoo::Feed& feed, const TensorSpec& spec, StepKey key,
               std::span<std::byte> bytes) {
  RandomStream random{.key = key.seed, .stream = hash_text("feed " + feed.input), .step = key.step};
  auto value = [&](std::size_t element) {
    if (feed.kind == zoo::Feed::Kind::normal) return random.normal(element);
    return feed.values[element % feed.values.size()];
  };
  dispatch(spec.dtype, [&]<class T>() {
    std::span<T> values{reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(value(i));
  });
}

}  // namespace troika
