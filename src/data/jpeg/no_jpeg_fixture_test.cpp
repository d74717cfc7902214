#include "data/testing/image_fixture.h"

namespace troika::data {

std::string jpeg_file(const Picture&) { return {}; }

}  // namespace troika::data
