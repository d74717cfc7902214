// What the process sets up once, before anything else.
#pragma once

namespace troika::cli {

/// Makes a file size limit an error of the write (EFBIG) instead of a signal that ends the process,
/// and keeps the numbers of closed standard streams from going to other files, which would then
/// receive the output.
void prepare_process();

}  // namespace troika::cli
