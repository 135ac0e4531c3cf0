#include "base/files/read_file.h"

#include <algorithm>

#include "base/files/input_file.h"

namespace flopcast {

Diagnostic too_much_text(const std::filesystem::path& path) {
  return {ErrorCode::kTooLarge, path.string(), "is larger than 1 GiB",
          "is it the file you mean? If so, cut it"};
}

Result<std::string> read_file(const std::filesystem::path& path, std::string_view hint) {
  Result<InputFile> file = InputFile::open(path, hint);
  if (!file) return file.error();
  std::string text;
  std::size_t size = 0;
  for (::ssize_t n = 1; n > 0; size += static_cast<std::size_t>(n)) {
    if (size > kMostTextBytes) return too_much_text(path);
    if (text.size() == size) {
      text.resize(std::clamp<std::size_t>(2 * size, 1 << 16, kMostTextBytes + 1));
    }
    n = file->read(text.data() + size, text.size() - size);
    if (n < 0) {
      return Diagnostic{ErrorCode::kBadInput, path.string(), read_complaint(), std::string(hint)};
    }
  }
  text.resize(size);
  return text;
}

}  // namespace flopcast
