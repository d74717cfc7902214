#include "cli/process_setup.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace troika::cli {

void prepare_process() {
  std::signal(SIGXFSZ, SIG_IGN);
  // Opened the wrong way round, so that writing to a closed stdout still fails.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)
      ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace troika::cli
