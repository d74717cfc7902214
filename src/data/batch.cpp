#include "data/batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troika::data {
namespace {

TensorSpec add_rows(std::int64_t rows, const Shape& shape, DType dtype) {
  TensorSpec spec{{rows}, dtype};
  for (std::int64_t extent : shape) spec.shape.push_back(extent);
  return spec;
}

}  // namespace

HostField::HostField(std::string name, TensorSpec spec)
    : name_(std::move(name)),
      spec_(spec),
      bytes_(static_cast<std::byte*>(::operator new(size(), kAlignment))) {
  std::memset(bytes_.get(), 0, size());
}

std::span<std::byte> HostField::row(std::int64_t index) {
  std::size_t length = size() / static_cast<std::size_t>(spec_.shape[0]);
  return bytes().subspan(static_cast<std::size_t>(index) * length, length);
}

Batch Batch::for_dataset(const Dataset& dataset, std::int64_t rows, DType floating) {
  Batch batch;
  Shape target;
  for (const Field& field : dataset.fields()) {
    DType dtype = field.spec.dtype == DType::i32 ? DType::i32 : floating;
    batch.fields.emplace_back(field.name, add_rows(rows, field.spec.shape, dtype));
    // Class indices have a weight each; numbers to predict share one per sample.
    if (field.name == "target" && dtype == DType::i32) target = field.spec.shape;
  }
  if (dataset.encoding().find("weight") == nullptr)
    batch.fields.emplace_back("weight", add_rows(rows, target, floating));
  return batch;
}

const HostField& Batch::operator[](std::string_view name) const {
  auto found = std::ranges::find(fields, name, &HostField::name);
  TROIKA_CHECK(found != fields.end(), "no field " + std::string(name));
  return *found;
}

}  // namespace troika::data
