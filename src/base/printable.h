// Makes text from files and peers safe for terminals and logs.
#pragma once

#include <string>
#include <string_view>

namespace troika {

enum class Lines { one, many };

/// Returns the text with everything escaped that a terminal would interpret: control characters
/// (ESC, BEL, CR, written as \u001b), characters that change the direction of text, and bytes that
/// are not UTF-8 (as \xff). Lines::many keeps line feeds and tabs. A JSON document in valid UTF-8
/// keeps its values.
std::string printable(std::string_view text, Lines lines = Lines::many);

}  // namespace troika
