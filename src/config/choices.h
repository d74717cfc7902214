// The words for the values of an enum. Overloads of choices(E) hold them; reading and printing both
// use these lists.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace troika {

template <class E>
struct Choice {
  E value;
  std::string_view word;
};

template <class E>
std::string_view to_word(E value) {
  for (const Choice<E>& choice : choices(value)) {
    if (choice.value == value) return choice.word;
  }
  return {};
}

template <class E>
std::optional<E> from_word(std::string_view word) {
  for (const Choice<E>& choice : choices(E{})) {
    if (choice.word == word) return choice.value;
  }
  return std::nullopt;
}

}  // namespace troika
