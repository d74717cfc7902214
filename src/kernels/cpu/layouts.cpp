#include "kernels/cpu/layouts.h"

#include <algorithm>

namespace troika {

std::vector<Layout> activation_layouts(const Shape& shape) {
  if (shape.rank() != 4) return {Layout::plain};
  return {Layout::plain, Layout::channels_last, Layout::blocked16, Layout::blocked8};
}

std::vector<Layout> parameter_layouts(const Shape& shape) {
  if (shape.rank() == 2) return {Layout::plain, Layout::transposed};
  if (shape.rank() != 4) return {Layout::plain};
  std::vector<Layout> layouts{Layout::plain,       Layout::weight_io16, Layout::weight_io8,
                              Layout::weight_oi16, Layout::weight_oi8,  Layout::weight_o16,
                              Layout::weight_o8,   Layout::weight_hwio};
  if (shape[1] == 1) layouts.insert(layouts.end(), {Layout::group_g16, Layout::group_g8});
  return layouts;
}

std::vector<Layout> all_layouts(const Shape& shape) {
  std::vector<Layout> layouts = activation_layouts(shape);
  for (Layout layout : parameter_layouts(shape)) {
    if (std::ranges::find(layouts, layout) == layouts.end()) layouts.push_back(layout);
  }
  return layouts;
}

}  // namespace troika
