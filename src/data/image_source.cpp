#include "data/image_source.h"

#include "data/resize.h"

namespace troika::data {

void ImageSource::read_part(std::int64_t index, const ChoosePart& choose,
                            std::span<float> pixels) const {
  std::vector<float> whole(pixels.size());
  read_pixels(index, whole);
  PixelView<float> view = view_of(whole, shape());
  resize(view, choose(view.size), shape(), pixels);
}

}  // namespace troika::data
