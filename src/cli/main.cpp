#include <iostream>

#include "cli/process_setup.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  troika::cli::prepare_process();
  troika::cli::limit_spinning(argv);
  troika::cli::Console console(std::cout, std::cerr, troika::cli::read_environment());
  troika::cli::Context context{console};
  return troika::cli::run_program({argv + 1, argv + argc}, context);
}
