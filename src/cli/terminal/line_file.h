// A file of lines that a long command adds to as it goes: what is complete stays through Ctrl-C and
// full disks, and the same command takes up where it was stopped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast::cli {

class LineFile {
 public:
  /// Opens or makes the file, locks it and reads it. Errors: another process writes to it; it cannot
  /// be read; its first line, or a last one without an end, is of something else: such a file is left alone.
  /// @param head what each of our lines begins with
  static Result<LineFile> open(const std::filesystem::path& path, std::string_view head);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&&) = delete;
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  const std::filesystem::path& path() const { return path_; }
  /// Its complete lines.
  const std::string& held() const { return held_; }
  /// To be called once `held` is known to be ours, before anything is added: cuts off a last line
  /// without an end, which was being written when something stopped.
  std::optional<Diagnostic> cut_torn_line();
  /// On disk, or the error that kept it out; the file is as before then. @param line with its end
  std::optional<Diagnostic> append(std::string_view line);

 private:
  LineFile(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  std::optional<Diagnostic> read_held(std::string_view head);
  Diagnostic complaint(const char* doing) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string held_;
  bool torn_ = false;
};

}  // namespace flopcast::cli
