#include "base/files/random_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files/input_file.h"

namespace flopcast {

namespace fs = std::filesystem;

RandomFile::~RandomFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<RandomFile> RandomFile::open(const fs::path& path, std::string_view hint) {
  RandomFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), 0);
  struct ::stat facts {};
  const auto refuse = [&](std::string what) {
    return Diagnostic{ErrorCode::kBadInput, path.string(), std::move(what), std::string(hint)};
  };
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &facts) != 0)
    return refuse(read_complaint());
  if (!S_ISREG(facts.st_mode)) return refuse("is no file on a disk");
  file.size_ = static_cast<std::uint64_t>(facts.st_size);
  return file;
}

Result<RandomFile> RandomFile::nameless(const fs::path& folder) {
  const fs::path place = folder.empty() ? fs::path(".") : folder;
  int descriptor = -1;
#ifdef O_TMPFILE
  descriptor = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
  if (descriptor < 0) {  // file systems that cannot
    std::string name = (place / ".flopcast-XXXXXX").string();
    descriptor = ::mkstemp(name.data());
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor < 0) {
    return Diagnostic{ErrorCode::kBadInput, place.string(),
                      std::string("no file can be made here: ") + std::strerror(errno),
                      "name a folder that can be written"};
  }
  return RandomFile(descriptor, 0);
}

bool RandomFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ::ssize_t n =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<::off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
    size_ += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool RandomFile::read_at(std::uint64_t offset, std::size_t size, std::string& to) const {
  if (offset > size_ || size > size_ - offset) return false;
  to.resize(size);
  for (std::size_t have = 0; have < size;) {
    const ::ssize_t n =
        ::pread(descriptor_, to.data() + have, size - have, static_cast<::off_t>(offset + have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    have += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace flopcast
