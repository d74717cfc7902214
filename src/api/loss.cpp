#include <troika/loss.h>

namespace troika::loss {

Loss cross_entropy() { return {Kind::cross_entropy}; }
Loss mean_squared_error(const TargetOptions& options) {
  return {Kind::mean_squared_error, options.target};
}
Loss mean_absolute_error(const TargetOptions& options) {
  return {Kind::mean_absolute_error, options.target};
}
Loss sigmoid_cross_entropy(const TargetOptions& options) {
  return {Kind::sigmoid_cross_entropy, options.target};
}
Loss of_model() { return {Kind::of_model}; }

}  // namespace troika::loss
