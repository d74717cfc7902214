#include "base/streaming.h"

#include <gtest/gtest.h>

#include <vector>

namespace troika {
namespace {

TEST(Streaming, CopiesAnyLengthFromAnyPlaceToAnyPlaceAndNothingBeside) {
  std::vector<std::byte> from(1024), to;
  for (std::size_t at = 0; at < from.size(); ++at) from[at] = static_cast<std::byte>(at % 251);
  for (std::size_t shift : {0, 1, 2, 31, 63}) {
    for (std::size_t bytes : {0, 1, 63, 64, 65, 127, 128, 300, 700}) {
      to.assign(1024, std::byte{255});
      stream_copy(to.data() + shift, from.data() + 7, bytes);
      stream_end();
      for (std::size_t at = 0; at < to.size(); ++at) {
        bool inside = at >= shift && at < shift + bytes;
        ASSERT_EQ(to[at], inside ? from[7 + at - shift] : std::byte{255})
            << bytes << " bytes to place " << shift << ", at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace troika
