// Any bytes are a cost file or a file of link costs that reads back equal once written, or an
// Error(file).
#include "base/error.h"
#include "cost/link_costs.h"
#include "cost/table_json.h"
#include "fuzz/target.h"

namespace troika {
namespace {

template <class Parse>
void check(const std::string& text, Parse&& parse) {
  std::string written;
  try {
    written = to_json(parse(text));
  } catch (const Error& error) {
    fuzz::accept_refusal(error, ErrorKind::file);
    return;
  }
  // As text: a table has its rows in the order of the file, and writes them in that of their keys.
  fuzz::require(to_json(parse(written)) == written, "the costs changed when written");
}

}  // namespace
}  // namespace troika

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(troika::fuzz::text_of(bytes, size));
  troika::check(text, troika::parse_costs);
  troika::check(text, troika::parse_link_costs);
  return 0;
}
