// The terminal and its environment variables, read once in main.
#pragma once

namespace troika::cli {

struct Environment {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool wants_color =
      true;         ///< NO_COLOR is not set (https://no-color.org) and the terminal is not "dumb".
  int width = 100;  ///< Columns of the terminal.
};

Environment read_environment();

}  // namespace troika::cli
