// Replaces the CPU kernels if oneDNN was not found.
#include "base/error.h"
#include "kernels/cpu/cpu.h"

namespace troika {

std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions&) {
  throw Error(ErrorKind::usage,
              "this build of Troika has no CPU kernels, because oneDNN was not found; install it "
              "(Debian and Ubuntu: libdnnl-dev, Fedora: onednn-devel, conda: onednn) and configure "
              "again");
}

std::string cpu_library() { return {}; }

}  // namespace troika
