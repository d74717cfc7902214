#include <fmt/format.h>

#include "base/error.h"
#include "comm/mpi/mpi_world.h"

namespace troika {

std::string_view to_string(MpiThreading threading) {
  switch (threading) {
    case MpiThreading::multiple:
      return "multiple";
    case MpiThreading::serialized:
      return "serialized";
    case MpiThreading::progress_thread:
      return "progress_thread";
  }
  return "";
}

MpiThreading parse_mpi_threading(std::string_view text) {
  for (MpiThreading threading :
       {MpiThreading::multiple, MpiThreading::serialized, MpiThreading::progress_thread}) {
    if (text == to_string(threading)) return threading;
  }
  throw Error(ErrorKind::usage,
              fmt::format("'{}' is no way to share MPI among threads; there are 'multiple', "
                          "'serialized' and 'progress_thread'",
                          text));
}

}  // namespace troika
