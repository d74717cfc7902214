// CIFAR-10, binary version: records of one label byte and 3x32x32 pixels.
// https://www.cs.toronto.edu/~kriz/cifar.html
#pragma once

#include <memory>
#include <string>

#include "data/image_source.h"

namespace troika::data {

/// `path` is a folder (data_batch_1.bin to data_batch_5.bin), folder/train, folder/test
/// (test_batch.bin), or one file.
std::unique_ptr<ImageSource> open_cifar10(const std::string& path);

}  // namespace troika::data
