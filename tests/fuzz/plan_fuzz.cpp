// Any bytes are a plan that reads back equal once written, or an Error(file).
#include "base/error.h"
#include "fuzz/target.h"
#include "strategy/strategy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace troika;
  Strategy strategy;
  try {
    strategy = parse_strategy(fuzz::text_of(bytes, size));
  } catch (const Error& error) {
    return fuzz::accept_refusal(error, ErrorKind::file);
  }
  // Read by every run before the plan is compared with the model.
  (void)named_devices(strategy);
  fuzz::require(parse_strategy(to_json(strategy)) == strategy, "the plan changed when written");
  return 0;
}
