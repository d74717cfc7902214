// For tests: files as numpy.save writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika {

/// The first format version. `type` is NumPy's, such as "<f4"; `shape` is a tuple without its
/// parentheses, such as "60, 8, 8".
template <class T>
std::string npy_file(const std::string& type, const std::string& shape,
                     const std::vector<T>& values) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  file += header;
  return file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace troika
