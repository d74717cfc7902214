// Text from files and peers, made safe for terminals and logs.
#pragma once

#include <string>
#include <string_view>

namespace troika {

enum class Lines { one, many };

/// The text with everything escaped that a terminal would obey instead of showing: control
/// characters (ESC, BEL, CR …, as \u001b), those that change the direction of text, and bytes that
/// are not UTF-8 (as \xff). Lines::many keeps line feeds and tabs. A JSON document
/// of valid UTF-8 stays one with the same values.
std::string printable(std::string_view text, Lines lines = Lines::many);

}  // namespace troika
