#include "live/engine/account/row_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace flopcast::live {

BlockFile::~BlockFile() {
  if (file_ >= 0) ::close(file_);
}

/// A file that has no name from the beginning on is gone with the process, however that ends.
bool BlockFile::open() {
  if (file_ >= 0 || refused_) return file_ >= 0;
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(unknown);
  file_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) {  // not every file system has such files
    std::string name = (folder / "flopcast-rows-XXXXXX").string();
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file_ >= 0) ::unlink(name.c_str());
  }
  refused_ = file_ < 0;
  return !refused_;
}

std::int64_t BlockFile::write(const void* bytes, std::size_t size) {
  if (!open()) return -1;
  const std::int64_t place = end_;
  const char* at = static_cast<const char*>(bytes);
  for (std::size_t done = 0; done < size;) {
    const ssize_t some = ::pwrite(file_, at + done, size - done,
                                  static_cast<off_t>(place) + static_cast<off_t>(done));
    if (some <= 0) return -1;
    done += static_cast<std::size_t>(some);
  }
  end_ += static_cast<std::int64_t>(size);
  return place;
}

bool BlockFile::read(std::int64_t place, void* bytes, std::size_t size) const {
  char* at = static_cast<char*>(bytes);
  for (std::size_t done = 0; done < size;) {
    const ssize_t some = ::pread(file_, at + done, size - done,
                                 static_cast<off_t>(place) + static_cast<off_t>(done));
    if (some <= 0) return false;
    done += static_cast<std::size_t>(some);
  }
  return true;
}

}  // namespace flopcast::live
