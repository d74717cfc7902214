#include "comm/mpi/mpi_status.h"

#include <fmt/format.h>
#include <mpi.h>

#include "base/error.h"

namespace troika {

void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  int kind = status;
  MPI_Error_string(status, text, &length);
  MPI_Error_class(status, &kind);
  const char* advice = kind == MPI_ERR_TRUNCATE
                           ? "the two ranks disagree about the length of a message"
                           : "a peer or the network between two ranks is probably lost";
  throw Error(ErrorKind::peer,
              fmt::format("{} failed: {}; {}", call, std::string_view(text, length), advice));
}

}  // namespace troika
