// A capture read back: whatever its bytes are, it is one or it is refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/files/byte_source.h"
#include "base/pack/columns.h"
#include "live/engine/capture/capture.h"
#include "live/engine/capture/layout.h"
#include "live/wire/ranks.h"

namespace flopcast::live {
namespace {

using protozero::pbf_reader;
using Columns = std::array<std::vector<std::uint64_t>, kColumns>;

/// Ranks in families, all together: a damaged file does not fill the memory.
constexpr std::size_t kMostNamed = 8 * kMostRanks;

constexpr std::string_view kHint = "name a file of `flopcast run --capture`";

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  Result<Capture> read() {
    if (!bytes_.starts_with(kCaptureMagic) && !bytes_.starts_with(kOlderMagic)) {
      const bool other = bytes_.starts_with(kCaptureMagic.substr(0, 5));
      return wrong(other ? "is a capture of another version" : "is no capture of a run");
    }
    at_ = kCaptureMagic.size();
    while (at_ < bytes_.size()) {
      if (ended_) return damaged("has more bytes behind its end");
      std::size_t size = 0;
      if (bytes_.size() - at_ < 4) return damaged("is cut off");
      for (std::size_t i = 0; i < 4; ++i)
        size |= std::size_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
      if (bytes_.size() - at_ - 4 < size) return damaged("is cut off");
      const auto block = decompressed(bytes_.substr(at_ + 4, size), kMostBlockBytes);
      if (!block) return damaged("has a damaged block");
      if (!take(*block)) return damaged("has a block that is not as blocks are");
      at_ += 4 + size;
    }
    if (!ended_) return damaged("ends before the run does");
    if (!take_folding()) return damaged("says of ranks that are alike what cannot be");
    return std::move(capture_);
  }

 private:
  Diagnostic wrong(std::string what) const {
    return {ErrorCode::kBadInput, where_, std::move(what), std::string(kHint)};
  }
  Diagnostic damaged(std::string_view what) const {
    return {ErrorCode::kBadInput, where_, fmt::format("{} (byte {})", what, at_),
            "run it again, or fetch the file again"};
  }

  /// False where the message makes no sense.
  bool take(const std::string& block) {
    try {
      return take_fields(pbf_reader(block));
    } catch (const protozero::exception&) {
      return false;
    }
  }

  bool take_fields(pbf_reader in) {
    Columns columns;
    std::array<bool, kColumns> there{};
    while (in.next()) {
      const protozero::pbf_tag_type tag = in.tag();
      if (tag >= 1 && tag <= kColumns) {
        const protozero::data_view bytes = in.get_view();
        auto column =
            unpacked_column({bytes.data(), bytes.size()}, coding_of(static_cast<Column>(tag)));
        if (!column || std::exchange(there[tag - 1], true)) return false;
        columns[tag - 1] = std::move(*column);
      } else if (tag == kText) {
        capture_.texts.push_back(in.get_string());
      } else if (tag < static_cast<protozero::pbf_tag_type>(Ending::kStatus)) {
        take_fact(in);
      } else {
        take_ending(in);
      }
    }
    if (!there[0]) return true;
    for (const auto& column : columns) {
      if (column.size() != columns[0].size()) return false;
    }
    for (std::size_t i = 0; i < columns[0].size(); ++i) {
      if (!take_row(columns, i)) return false;
    }
    return true;
  }

  void take_fact(pbf_reader& in) {
    CaptureFacts& facts = capture_.facts;
    switch (static_cast<Fact>(in.tag())) {
      case Fact::kCluster:
        facts.cluster = in.get_string();
        break;
      case Fact::kChip:
        facts.chip = in.get_string();
        break;
      case Fact::kRanks:
        facts.ranks = in.get_uint32();
        break;
      case Fact::kChipsPerNode:
        facts.chips_per_node = in.get_uint32();
        break;
      case Fact::kMemoryBytes:
        facts.memory_bytes = in.get_uint64();
        break;
      case Fact::kHost:
        facts.host = in.get_string();
        break;
      case Fact::kHostFactor:
        facts.host_factor = in.get_double();
        break;
      case Fact::kOperators:
        facts.operators = in.get_string();
        break;
      case Fact::kNodesAsCluster:
        facts.nodes_as_cluster = in.get_bool();
        break;
      case Fact::kFolding:
        folding_ = in.get_string();
        break;
      case Fact::kFamily:
        families_.push_back(in.get_string());
        break;
      default:
        in.skip();
    }
  }

  void take_ending(pbf_reader& in) {
    LiveReport& ending = capture_.ending;
    const auto failure = [&ending]() -> LiveFailure& {
      if (!ending.failure) ending.failure.emplace();
      return *ending.failure;
    };
    switch (static_cast<Ending>(in.tag())) {
      case Ending::kStatus:
        ending.status = in.get_int32();
        ended_ = true;
        break;
      case Ending::kFailureRank:
        failure().rank = in.get_int32();
        break;
      case Ending::kFailureStatus:
        failure().status = in.get_int32();
        break;
      case Ending::kFailureLine:
        failure().last_line = in.get_string();
        break;
      case Ending::kStopped:
        ending.stopped = in.get_bool();
        break;
      case Ending::kUnsupported:
        ending.unsupported.push_back(in.get_string());
        break;
      case Ending::kTaintedReads:
        ending.tainted_reads = in.get_uint64();
        break;
      case Ending::kTaintedWhere:
        ending.tainted_where.push_back(in.get_string());
        break;
      case Ending::kAssumed:
        ending.assumed = in.get_uint64();
        break;
      case Ending::kMemoryRank:
        ending.ranks.emplace_back().rank = in.get_int32();
        break;
      case Ending::kMemoryBytes:
        if (ending.ranks.empty()) ending.ranks.emplace_back();
        ending.ranks.back().most_memory = in.get_uint64();
        break;
      case Ending::kValuesEnd:
        ending.values_end.push_back(in.get_string());
        break;
      case Ending::kOtherLengths:
        ending.other_lengths = in.get_uint64();
        break;
      case Ending::kRestarts:
        capture_.restarts = in.get_uint64();
        break;
      default:
        in.skip();
    }
  }

  /// Whoever came is a rank that is there.
  bool take_folding() {
    if (folding_.empty()) return families_.empty();
    const std::size_t ranks = capture_.facts.ranks;
    std::optional<Folding> folding =
        ranks <= kMostRanks ? folding_of(folding_, ranks) : std::nullopt;
    if (!folding) return false;
    std::size_t named = 0;
    for (const std::string& text : families_) {
      auto family = groups_of_text(text, ranks);
      named += ranks;
      if (!family || named > kMostNamed) return false;
      folding->families.push_back(std::move(*family));
    }
    capture_.facts.folding = std::move(*folding);
    return std::all_of(capture_.rows.begin(), capture_.rows.end(), [&](const CapturedRow& row) {
      if (row.kind != CapturedRow::Kind::kProcess) return true;
      const auto rank = static_cast<std::size_t>(row.rank);
      return rank < ranks && capture_.facts.folding.there[rank];
    });
  }

  /// What it names has to be there.
  bool take_row(const Columns& columns, std::size_t at) {
    const auto value = [&](Column column) {
      return columns[static_cast<std::size_t>(column) - 1][at];
    };
    bool fits = true;
    const auto into = [&](auto& to, Column column) {
      using Field = std::remove_reference_t<decltype(to)>;
      const std::uint64_t number = value(column);
      fits = fits && number <= std::numeric_limits<Field>::max();
      to = static_cast<Field>(number);
    };
    CapturedRow row;
    Record& record = row.record;
    std::uint8_t kind = 0, act = 0;
    into(kind, Column::kKind);
    into(act, Column::kAct);
    into(row.process, Column::kProcess);
    into(row.thread, Column::kThread);
    into(record.flags, Column::kFlags);
    into(record.device, Column::kDevice);
    into(record.signature, Column::kText);
    into(record.duration_ns, Column::kDuration);
    into(record.number, Column::kNumber);
    record.stream = value(Column::kStream);
    record.gap_ns = static_cast<std::int64_t>(unzigzag(value(Column::kGap)));
    const auto rank = static_cast<std::int64_t>(unzigzag(value(Column::kRank)));
    row.rank = static_cast<std::int32_t>(rank);
    for (std::size_t i = 0; i < 4; ++i)
      record.word[i] = columns[static_cast<std::size_t>(Column::kWord0) - 1 + i][at];
    row.kind = static_cast<CapturedRow::Kind>(kind);
    record.act = static_cast<Act>(act);
    fits = fits && row.rank == rank && row.kind <= CapturedRow::Kind::kAnswer &&
           record.act <= kLastAct && record.signature <= capture_.texts.size() &&
           row.thread < Region::kThreads;
    if (row.kind == CapturedRow::Kind::kProcess) {
      ++processes_;
    } else {
      fits = fits && row.process < processes_;
    }
    if (fits) capture_.rows.push_back(row);
    return fits;
  }

  std::string_view bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::uint32_t processes_ = 0;
  bool ended_ = false;
  std::string folding_;                // its text; empty: a whole run
  std::vector<std::string> families_;  // theirs
  Capture capture_;
};

}  // namespace

Result<Capture> parse_capture(std::string_view bytes, const std::string& where) {
  return Reader(bytes, where).read();
}

bool is_capture(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe may have no writer
  std::ifstream file(path, std::ios::binary);
  std::string begin(kCaptureMagic.size(), '\0');
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
         begin.starts_with(kCaptureMagic.substr(0, 5));
}

Result<Capture> read_capture(const std::filesystem::path& path) {
  Result<std::string> bytes = read_unpacked(path, kHint);
  if (!bytes) return bytes.error();
  return parse_capture(*bytes, path.string());
}

}  // namespace flopcast::live
