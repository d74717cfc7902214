#include "data/testing/image_fixture.h"

namespace troika::data {

Picture plain_picture(PictureSize size, int red, int green, int blue) {
  Picture picture = make_picture(size, green < 0 ? 1 : 3);
  const int colours[] = {red, green, blue};
  for (std::size_t i = 0; i < picture.bytes.size(); ++i)
    picture.bytes[i] =
        static_cast<std::uint8_t>(colours[i % static_cast<std::size_t>(picture.channels)]);
  return picture;
}

Picture ramp_picture(PictureSize size) {
  Picture picture = make_picture(size, 3);
  std::size_t at = 0;
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x) {
      picture.bytes[at++] = static_cast<std::uint8_t>(255 * x / size.width);
      picture.bytes[at++] = static_cast<std::uint8_t>(255 * y / size.height);
      picture.bytes[at++] = 100;
    }
  return picture;
}

}  // namespace troika::data
