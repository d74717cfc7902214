// IDX files, the format of MNIST: http://yann.lecun.com/exdb/mnist.
#pragma once

#include <memory>
#include <string>

#include "data/array_file.h"
#include "data/image_source.h"

namespace troika::data {

/// An array of unsigned bytes, plain or gzip. Throws Error(file) for any other file.
ArrayFile read_idx(const std::string& path);

/// `path` is a folder with train-images-idx3-ubyte and train-labels-idx1-ubyte (else the t10k
/// ones), or a prefix such as DIR/t10k; each file may end in .gz.
std::unique_ptr<ImageSource> open_idx(const std::string& path);

}  // namespace troika::data
