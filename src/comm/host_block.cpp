#include "comm/host_block.h"

#include "base/error.h"

namespace troika {

HostBlock::HostBlock(Bytes bytes) : bytes_(bytes) {
  if (bytes.count == 0) return;
  address_ = host_block(bytes);
  if (address_ == nullptr)
    throw Error(ErrorKind::memory, "cannot allocate " + to_string(bytes) +
                                       " of scratch that a collective needs; use a smaller batch, "
                                       "or smaller buckets");
}

}  // namespace troika
