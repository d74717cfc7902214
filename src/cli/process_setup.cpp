#include "cli/process_setup.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace troika::cli {

void prepare_process() {
  std::signal(SIGXFSZ, SIG_IGN);
  // Opened in the wrong direction, so that writing to a closed stdout still fails.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)
      ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void limit_spinning(char** arguments) {
  for (const char* stated : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})
    if (std::getenv(stated) != nullptr) return;
  // libgomp reads the variable in its constructor, which runs before main, and has no call to
  // change it later. In the restarted process the variable is set, so it does not restart again.
  if (setenv("GOMP_SPINCOUNT", kSpinCount, 1) == 0) execv("/proc/self/exe", arguments);
}

}  // namespace troika::cli
