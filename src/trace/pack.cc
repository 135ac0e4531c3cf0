// Trace files to one pack. Rows go to columns as they are read, and leave as blocks; what is kept of a
// file meanwhile is a block and the places of those before it.
#include <algorithm>
#include <map>
#include <new>
#include <tuple>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/files/random_file.h"
#include "flopcast/trace/io.h"
#include "trace/kineto/reader.h"
#include "trace/kineto/rows.h"
#include "trace/kineto/selection.h"
#include "trace/pack/block.h"
#include "trace/pack/reader.h"
#include "trace/pack/writer.h"
#include "trace/raw/append.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

namespace fs = std::filesystem;

const ReadOptions& options_of_rows(bool python) {
  static const ReadOptions plain, all = [] {
    ReadOptions options;
    options.keep_python = true;
    return options;
  }();
  return python ? all : plain;
}

/// The rows of one file, to blocks. Rows of Python functions, which most readers pass over, have blocks
/// of their own, so that the others are read as if these were not there.
class RowPacker {
 public:
  RowPacker(PackSink sink, PackMember& member, std::size_t rows_of_block)
      : member_(member),
        rows_of_block_(std::min(rows_of_block, kRowsOfBlock)),
        blocks_(std::move(sink), member),
        rows_(member.facts, options_of_rows(false)),
        python_rows_(member.python, options_of_rows(true)) {}

  Scan read(Cursor& cursor) {
    Cursor again = cursor;
    const Scan scan = rows_.read(cursor);
    if (scan != Scan::kOk) return scan;
    const auto bytes = static_cast<std::uint64_t>(cursor.at() - again.at());
    if (rows_.passed_python()) return read_python(again, bytes);
    bytes_ += bytes;
    return is_full(member_.facts, bytes_) && !write_main() ? stop(cursor) : Scan::kOk;
  }
  /// What is left.
  bool finish() { return write_main() && write_python() && write_names(); }
  bool failed() const { return failed_; }
  std::uint64_t rows() const { return others_ + pythons_ + member_.facts.events(); }

 private:
  bool is_full(const RawTrace& raw, std::uint64_t bytes) const {
    return rows_held(raw) >= rows_of_block_ || bytes >= kTextOfBlock;
  }
  Scan read_python(Cursor& cursor, std::uint64_t bytes) {
    RawTrace& raw = member_.python;
    ++passed_;
    python_bytes_ += bytes;
    const Scan scan = python_rows_.read(cursor);
    if (raw.events() > raw.order.size()) raw.order.push_back(others_ + member_.facts.events());
    return is_full(raw, python_bytes_) && !write_python() ? stop(cursor) : scan;
  }
  // Whoever reads a part of the file needs the names of all threads: they have a block of their own.
  void take_names() {
    const RawTrace& raw = member_.facts;
    for (const RawTrace::NameRow& row : raw.names) {
      names_[{row.of_process, std::string(raw.strings[row.pid]),
              std::string(raw.strings[row.tid])}] = raw.strings[row.name];
    }
    member_.facts.names.clear();
  }
  bool write_names() {
    RawTrace& raw = member_.facts;
    for (const auto& [of, name] : names_) {
      const auto& [of_process, pid, tid] = of;
      raw.names.push_back(
          {raw.strings.intern(pid), raw.strings.intern(tid), raw.strings.intern(name), of_process});
    }
    return write(raw, rows_, false);
  }
  bool write_main() {
    take_names();
    others_ += member_.facts.events();
    bytes_ = 0;
    return write(member_.facts, rows_, false);
  }
  bool write_python() {
    pythons_ += member_.python.events();
    python_bytes_ = 0;
    member_.python.trace.other_rows = passed_;  // how many the counts of the others have of them
    return write(member_.python, python_rows_, true);
  }
  bool write(RawTrace& raw, KinetoRows& rows, bool python) {
    failed_ |= !blocks_.write(raw, python);
    rows.begin_anew();
    return !failed_;
  }
  Scan stop(Cursor& cursor) {
    cursor.fail("nowhere to write to");
    return Scan::kBad;
  }

  PackMember& member_;
  std::size_t rows_of_block_;
  BlockWriter blocks_;
  KinetoRows rows_, python_rows_;
  std::map<std::tuple<bool, std::string, std::string>, std::string> names_;  // as said last
  std::uint64_t others_ = 0, pythons_ = 0, passed_ = 0;                      // rows so far
  std::uint64_t bytes_ = 0, python_bytes_ = 0;  // of JSON that the next blocks are of
  bool failed_ = false;
};

/// A file on its way into the pack.
struct Packed {
  PackMember member;
  std::optional<RandomFile> blocks;  // of the file, where they wait for those of files before it
  std::uint64_t rows = 0;
  std::optional<Diagnostic> error;
};

Diagnostic no_room(const fs::path& folder) {
  return {ErrorCode::kBadInput, folder.string(), "the disk does not take what is packed",
          "free some space or name another disk"};
}

std::optional<Diagnostic> pack_file(const fs::path& from, const fs::path& folder,
                                    std::size_t rows_of_block, Packed& out,
                                    const std::function<void(std::uint64_t)>& progress) {
  if (is_pack(from)) {
    return Diagnostic{ErrorCode::kUsage, from.string(), "is a pack already",
                      "name the traces themselves"};
  }
  auto source = file_source(from);
  if (!source) return source.error();
  auto blocks = RandomFile::nameless(folder);
  if (!blocks) return blocks.error();
  out.blocks.emplace(std::move(*blocks));
  out.member.name = from == kStandardInput ? "stdin.json" : from.filename().string();
  RowPacker packer([&out](std::string_view bytes) { return out.blocks->append(bytes); }, out.member,
                   rows_of_block);
  ByteSource& bytes = **source;
  auto error = read_kineto_rows(
      bytes, from.string(), [&packer](Cursor& cursor) { return packer.read(cursor); },
      out.member.facts, {}, [&] { progress(bytes.packed_position()); });
  if (!error && !packer.finish()) error = no_room(folder);
  out.rows = packer.rows();
  return packer.failed() ? no_room(folder) : error;
}

std::vector<Packed> pack_files(const std::vector<fs::path>& files, const fs::path& folder,
                               const PackOptions& options) {
  std::vector<Packed> out(files.size());
  Progress progress(files, files.size(), options.progress);
  parallel_for(files.size(), options.threads, [&](std::size_t i) {
    try {
      out[i].error = pack_file(files[i], folder, options.rows_of_block, out[i],
                               [&](std::uint64_t position) { progress.at(i, position); });
    } catch (const std::bad_alloc&) {
      out[i].error = Diagnostic{ErrorCode::kTooLarge, files[i].string(), "does not fit in memory",
                                "pack with fewer --threads"};
    } catch (const std::exception& failure) {
      out[i].error = Diagnostic{ErrorCode::kBadInput, files[i].string(), failure.what(), ""};
    }
  });
  return out;
}

// Copies the blocks of a file to their place.
bool add_blocks(Packed& file, std::uint64_t offset, OutputFile& out) {
  constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
  std::string piece;
  for (std::uint64_t at = 0; at < file.blocks->size(); at += kPiece) {
    const std::uint64_t size = std::min(kPiece, file.blocks->size() - at);
    if (!file.blocks->read_at(at, size, piece)) return false;
    out.write(piece);
  }
  for (BlockPlace& block : file.member.blocks) block.offset += offset;
  return true;
}

Result<PackReport> write_pack(std::vector<Packed>& files, const Selection& selection,
                              OutputFile& out) {
  PackReport report;
  report.unreadable = selection.unreadable;
  PackIndex index{selection.label, {}};
  out.write(pack_head());
  std::uint64_t offset = kPackHeadBytes;
  for (Packed& file : files) {
    if (file.error) {
      report.unreadable.push_back(*file.error);
      continue;
    }
    if (!add_blocks(file, offset, out)) return no_room(file.member.name);
    offset += file.blocks->size();
    ++report.files;
    report.rows += file.rows;
    report.text_bytes += file.member.facts.trace.bytes_read;
    index.members.push_back(std::move(file.member));
  }
  const std::string bytes = packed_index(index);
  out.write(bytes);
  out.write(pack_tail(offset, bytes.size()));
  const auto written = out.commit();
  if (!written) return written.error();
  report.bytes = *written;
  return report;
}

}  // namespace

Result<PackReport> pack_traces(const std::vector<fs::path>& paths, const fs::path& to,
                               const PackOptions& options, const std::string& prefix) {
  try {
    auto selection = select_files(paths, prefix);
    if (!selection) return selection.error();
    if (!options.label.empty()) selection->label = options.label;
    auto out = OutputFile::create(to);
    if (!out) return out.error();
    std::vector<Packed> files = pack_files(selection->files, to.parent_path(), options);
    const auto failed = [](const Packed& file) { return file.error.has_value(); };
    if (std::all_of(files.begin(), files.end(), failed)) return *files.front().error;
    return write_pack(files, *selection, *out);
  } catch (const std::exception& failure) {
    return Diagnostic{ErrorCode::kBadInput, to.string(), failure.what(), ""};
  }
}

}  // namespace flopcast
