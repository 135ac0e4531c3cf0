// A file that appears whole or not at all: bytes go to a temporary neighbour, which takes the name
// only once all of it is on disk. Packs with gzip on the way when the name ends in ".gz".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

class GzipPacker;

class OutputFile {
 public:
  /// Pipes and devices are written in place; anything else goes through a temporary file.
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
  Diagnostic complaint(const char* doing) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: written in place
  std::unique_ptr<GzipPacker> packer_;
  std::uint64_t written_ = 0;
  int descriptor_ = -1;
  int error_ = 0;
};

}  // namespace flopcast
