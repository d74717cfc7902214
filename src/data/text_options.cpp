#include "data/text_options.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::data {

TextOptions text_options(const Uri& uri) {
  TextOptions options;
  if (auto stated = uri.query.find("split"); stated != uri.query.end()) {
    if (stated->second == "characters")
      options.unit = TextUnit::character;
    else if (stated->second != "words")
      throw Error(ErrorKind::usage,
                  fmt::format("split must be 'words' or 'characters', not '{}'", stated->second));
  }
  if (auto limit = number_in_query(uri, "vocabulary")) options.vocabulary = *limit;
  if (options.vocabulary <= WordVocabulary::kMarks)
    throw Error(ErrorKind::usage, fmt::format("a vocabulary of {} has no room for words besides "
                                              "its {} special tokens; use a larger one",
                                              options.vocabulary, WordVocabulary::kMarks));
  return options;
}

}  // namespace troika::data
