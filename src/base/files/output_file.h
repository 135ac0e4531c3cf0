// A file that appears whole or not at all: bytes go to a file without a name in the same folder, which takes the name
// only once all of it is on disk, with the mode and owner of the file it replaces. The kernel forgets what has no name
// when its process ends, however it ends. File systems that know no such files have a neighbour "NAME.PID-N.part".
// Packs with gzip on the way when the name ends in ".gz".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

class GzipPacker;

/// Why a file that is there may not be replaced: it is read-only, also to who may write it all the same.
std::optional<Diagnostic> read_only_problem(const std::filesystem::path& path);
/// Removes neighbours that writers of this file have left behind a day ago or more, and that are no more.
void remove_stale_parts(const std::filesystem::path& path);

class OutputFile {
 public:
  /// Pipes and devices are written in place; anything else goes through a temporary file. Errors: the file is
  /// read-only, its folder cannot be written.
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Without a successful commit() the temporary file is removed.
  ~OutputFile();

  /// After a failure the rest is ignored; commit() reports it.
  void write(std::string_view bytes);
  bool failed() const { return error_ != 0; }
  /// @return bytes of the file on disk.
  Result<std::uint64_t> commit();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor);
  void put(const char* data, std::size_t size);
  void take_over_mode();
  bool take_name();
  Diagnostic complaint(const char* doing) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: written in place
  bool nameless_ = false;            // `temporary_` is not there yet
  std::unique_ptr<GzipPacker> packer_;
  std::uint64_t written_ = 0;
  int descriptor_ = -1;
  int error_ = 0;
};

}  // namespace flopcast
