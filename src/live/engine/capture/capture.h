// A run that was made once, kept so that it can be timed again on other clusters: every record of every process in the
// order in which the session took it, and what programs were answered when they asked about time.
//
// A file is eight bytes that name it and blocks: four bytes of length, then a zstd frame (base/pack/columns.h) of one
// protobuf message: rows as columns, and the texts that they are the first to name. The first block has the facts of
// the run, the last one how it ended; a file without the latter was cut off.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/live.h"
#include "live/engine/session/session.h"
#include "live/wire/region.h"

namespace flopcast::live {

/// What the programs of a run saw, and what the engine knew of their host.
struct CaptureFacts {
  std::string cluster;      ///< as asked for
  std::string chip;         ///< its name
  std::uint32_t ranks = 0;  ///< that it had chips for
  std::uint32_t chips_per_node = 0;
  std::uint64_t memory_bytes = 0;  ///< of a chip, as programs saw it
  std::string host;                ///< HostTable::toml()
  std::string operators;           ///< file of the user's own; empty: none
  double host_factor = 0;          ///< of measured host time; 0: it was modelled
  bool nodes_as_cluster = true;    ///< programs saw nodes of the cluster; false: as asked for
  Folding
      folding{};  ///< who of the ranks was there; its shares_tiers is the cluster's, and not kept
};

/// A row: a record, or one of what follows acts.
struct CapturedRow {
  enum class Kind : std::uint8_t {
    kRecord,
    kProcess,  ///< one came: `rank`
    kLost,     ///< one is gone
    kStopped,  ///< a thread has stopped, and nobody says when it goes on
    kAnswer,  ///< a thread was answered more than a time: status in `duration_ns`, value in word[0]
  };
  Kind kind = Kind::kRecord;
  std::uint32_t process = 0, thread = 0;
  std::int32_t rank = 0;
  Record record;  ///< its signature is a number of Capture::texts, from 1
};

/// A file, read.
struct Capture {
  CaptureFacts facts;
  LiveReport ending;           ///< what no task says: failure, memory, values that nobody computed
  std::uint64_t restarts = 0;  ///< how often a launcher started the ranks again
  std::vector<std::string> texts;
  std::vector<CapturedRow> rows;

  std::string_view text(std::uint32_t number) const {
    return number == 0 ? std::string_view() : std::string_view(texts[number - 1]);
  }
};

/// Writes one while the run goes on.
class CaptureWriter final : public SessionListener {
 public:
  /// Errors: those of the file.
  static Result<std::unique_ptr<CaptureWriter>> create(const std::filesystem::path& path,
                                                       const CaptureFacts& facts);
  ~CaptureWriter() override;

  void came(std::int32_t rank) override;
  void took(std::uint32_t process, std::uint32_t thread, const Record& record,
            std::string_view signature) override;
  void lost(std::uint32_t process) override;
  void stopped(std::uint32_t process, std::uint32_t thread) override;
  void answered(const SessionAnswer& answer) override;

  /// The run is over. @return bytes of the file
  Result<std::uint64_t> commit(const LiveReport& ending);

 private:
  struct State;
  explicit CaptureWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Whether a file begins as captures do.
bool is_capture(const std::filesystem::path& path);
/// Errors: no capture, one of another version, one that was cut off or damaged.
Result<Capture> read_capture(const std::filesystem::path& path);
/// Of the bytes of a file. @param where names it in errors
Result<Capture> parse_capture(std::string_view bytes, const std::string& where);

}  // namespace flopcast::live
