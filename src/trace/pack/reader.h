// A pack on disk: its index, and the rows of its files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/files/random_file.h"
#include "trace/pack/index.h"

namespace flopcast::trace {

/// Whether a file begins as packs do. What is no regular file (a pipe, standard input) is none: blocks
/// are read at their places.
bool is_pack(const std::filesystem::path& path);

/// What to read of a file.
struct BlockChoice {
  bool python = false;   ///< rows of Python functions too
  unsigned threads = 1;  ///< to unpack with; 0: all cores
  /// only blocks that may hold what ReadOptions::steps asks for
  std::optional<StepRange> steps;
  /// called with the bytes of the pack that were read so far
  std::function<void(std::uint64_t)> progress;
};

class PackFile {
 public:
  static Result<PackFile> open(const std::filesystem::path& path);

  const PackIndex& index() const { return index_; }
  /// What a file says besides rows.
  RawTrace facts(std::size_t member, const BlockChoice& choice) const;
  /// Hands the rows of a file to `use`, block by block in its order: a few blocks at a time are in memory.
  /// Fails where a block is not what was written.
  using BlockUse = std::function<void(const BlockPlace&, RawTrace&)>;
  std::optional<Diagnostic> for_each_block(std::size_t member, const BlockChoice& choice,
                                           const BlockUse& use) const;
  /// Rows of a file and what it says besides.
  Result<RawTrace> read(std::size_t member, const BlockChoice& choice) const;
  /// The path that traces of a file have: "run.fcpack/rank0.json.gz".
  std::string path_of(std::size_t member) const;

 private:
  PackFile(std::filesystem::path path, RandomFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::optional<Diagnostic> read_index();
  /// Blocks to read of a file.
  static std::vector<const BlockPlace*> chosen(const PackMember& member, const BlockChoice& choice);
  std::optional<RawTrace> read_block(const BlockPlace& block) const;
  Diagnostic damaged(std::string what) const;

  std::filesystem::path path_;
  RandomFile file_;
  PackIndex index_;
};

}  // namespace flopcast::trace
