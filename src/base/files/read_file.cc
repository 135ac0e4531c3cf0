#include "base/files/read_file.h"

#include <array>
#include <fstream>

namespace flopcast {

Result<std::string> read_file(const std::filesystem::path& path, std::string_view hint) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 16> block;
  do {
    in.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  } while (in);
  // A file that is absent or a directory never comes to its end.
  if (in.eof()) return text;
  return Diagnostic{ErrorCode::kBadInput, path.string(), "cannot be read", std::string(hint)};
}

}  // namespace flopcast
