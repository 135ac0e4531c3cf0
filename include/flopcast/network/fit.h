// Floor 2: collective times fitted to measurements. How good it is: flopcast/measured/network.h.
//
// A curve is what one library needed on one system for one operation, over message sizes: at most
// 21 knots, interpolated in log-log, never falling with size. Other cases start from what physics says
// of their system's node, or from a pooled form per operation where the catalogue does not have it; what
// curves leave over of that is carried from measured cases to those that resemble them, on the same
// system and on others (docs/theory/network.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/network/collectives.h"

namespace flopcast {

/// What was measured, with which library on which system.
struct CollectiveCase {
  std::string system;   ///< "h100_sxm", "perlmutter": catalog/collectives/systems.toml
  std::string library;  ///< "NCCL", "vLLM_custom_graph"
  std::string version;  ///< "2.27.3"; empty: the newest there is
  std::string type;     ///< data type as the file names it; empty: any
  CollectiveOp op = CollectiveOp::kAllReduce;  ///< what was done
  unsigned ranks = 1, nodes = 1;               ///< that took part
  auto operator<=>(const CollectiveCase&) const = default;
};

/// One measured time.
struct CollectiveSample {
  CollectiveCase what;  ///< what was measured
  Bytes size;           ///< bytes, as CollectiveQuery counts them
  Seconds time;         ///< of one call
  std::string chip;     ///< as the file names it
  std::string source;   ///< as the file names it, licence included
};
/// What a log does not tell of its run, by hand; 0: as it tells.
struct RunSize {
  std::int64_t ranks = 0, nodes = 0;  ///< that took part
};
/// Reads a CSV file with the columns gpu, system, op, impl, dtype, gpus, nodes, bytes, time_us; source
/// and licence where there are any. Or what nccl-tests printed, one run or several; their system is the
/// catalogue's of the chip that they name. Plain or gzip. Rows that cannot be used are counted in
/// `anomalies` and left out. @param told of what nccl-tests printed; a table has columns for it
Result<std::vector<CollectiveSample>> read_collective_samples(const std::filesystem::path& file,
                                                              Anomalies& anomalies,
                                                              const RunSize& told = {});

/// What a calibration found: times of collectives on measured systems. Immutable; queries are thread-safe.
class CollectiveFit {
 public:
  struct State;  ///< the library's own
  /// Deterministic: the same samples in any order give the same fit.
  static CollectiveFit make(std::span<const CollectiveSample> samples);
  /// from what `flopcast calibrate network` wrote. Errors: cannot be read, is none
  static Result<CollectiveFit> load(const std::filesystem::path& file);
  /// the same from text; `where` names it in errors
  static Result<CollectiveFit> parse(std::string_view text, const std::string& where);
  /// The public systems, from the catalogue.
  static const CollectiveFit& builtin();
  /// What the others say, without what was measured of these cases.
  CollectiveFit without(const std::set<CollectiveCase>& cases) const;
  /// as catalog/collectives/*.toml; reading it back gives the same answers
  std::string toml() const;

  /// A time, and what it rests on.
  struct Answer {
    Seconds time, low, high;       ///< low, high: 10-90 % band
    Basis basis = Basis::kFitted;  ///< of `time`
    std::string_view source;       ///< in words; the curve's, valid as long as one of its copies
  };
  /// All sizes of one case. Answers take no memory: made for callers that ask a million times.
  class Curve {
   public:
    struct State;  ///< the library's own
    /// the library's own
    explicit Curve(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    Answer at(Bytes size) const;        ///< for one size
    Seconds time(Bytes size) const;     ///< that answer's time alone
    Basis basis() const;                ///< of its answers
    const std::string& source() const;  ///< in words, as of its answers

   private:
    std::shared_ptr<const State> state_;
  };
  /// @param source kBest; kTable: measured curves of this very case alone; kFitted: the three-term
  /// form of the case, else the pooled form. Nothing where the system (or, for kTable, the case) is
  /// not known.
  std::optional<Curve> curve(const CollectiveCase& what,
                             CollectiveSource source = CollectiveSource::kBest) const;

  /// On one node that nobody measured: NCCL's constants over the first chips of the cluster's first node,
  /// times what others leave over of theirs. Nothing where nobody was measured doing the operation, across
  /// nodes, and on chips that are not NVIDIA's.
  std::optional<Curve> curve_on(const Cluster& cluster, const CollectiveCase& what) const;

  std::vector<std::string> systems() const;  ///< names of the systems that were measured
  /// Whether the operation was measured on the system, within one node or across several.
  bool measured(std::string_view system, CollectiveOp op, bool across_nodes) const;
  /// The library that the operation was measured with on the system: NCCL where it is among several; "" where none was.
  std::string library(std::string_view system, CollectiveOp op) const;
  std::string chip(std::string_view system) const;  ///< as the measurements name it
  std::size_t curves() const;                       ///< how many cases were measured
  /// The newest version of the library measured on the system; empty where there is none.
  std::string newest(std::string_view system, std::string_view library) const;

  /// the library's own
  explicit CollectiveFit(std::unique_ptr<State> state);
  CollectiveFit(CollectiveFit&&) noexcept;
  CollectiveFit& operator=(CollectiveFit&&) noexcept;
  ~CollectiveFit();

 private:
  std::unique_ptr<State> state_;
};

/// The catalogue's node that a measured system is made of; empty where nobody said.
std::string node_of_system(std::string_view system);
/// Chips of the cluster that a case of so many ranks and nodes runs on: the first of each of its first nodes.
/// Errors: they do not fit.
Result<std::vector<std::uint32_t>> chips_of_case(const Cluster& cluster,
                                                 const CollectiveCase& what);
/// The class that a message's size is judged in: "< 64 KB", "64 KB - 4 MB", "4 - 64 MB", ">= 64 MB".
std::string_view collective_size_class(Bytes size);

}  // namespace flopcast
