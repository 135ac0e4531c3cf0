// Floor 1: writing traces, cutting them, and the execution traces that lie beside them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast {

/// Writes one Kineto JSON file (gzip if the name ends in .gz). With several ranks the rows carry
/// `args.rank` and pids are rank * 100,000,000 + pid, the form of merged multi-rank files;
/// correlations are made unique in the same way, with `args.correlation_raw` beside them. Opens in
/// Perfetto, HolisticTraceAnalysis and TensorBoard. Atomic: a full disk leaves no half file.
/// @return bytes written.
Result<std::uint64_t> write_kineto(const TraceSet& set, const std::filesystem::path& path);

/// Writes a Perfetto protobuf trace (TracePacket / TrackEvent): a process track per rank, a track
/// per thread and per stream, an overflow track where rows overlap without nesting, flow arrows
/// from launches to GPU work. @return bytes written.
Result<std::uint64_t> write_perfetto(const TraceSet& set, const std::filesystem::path& path);

/// What part of a trace to keep; rows are kept whole, byte for byte, when they overlap the
/// interval.
struct Slice {
  std::vector<std::int32_t> ranks;     ///< empty: all
  std::optional<std::string> step;     ///< "ProfilerStep#12" or "12"
  std::optional<double> from_s, to_s;  ///< seconds since the first row of the file
};
/// Cuts every file of `set` (read before, so that steps are known) into `directory`, same names.
/// GPU rows are kept with their launch. Of a pack, whose rows are no text, the traces in it are written
/// as write_kineto() does. @return files written.
Result<std::vector<std::filesystem::path>> slice_traces(const TraceSet& set, const Slice& slice,
                                                        const std::filesystem::path& directory);

/// How files are packed.
struct PackOptions {
  unsigned threads = 0;  ///< 0: all cores; one file takes one
  std::string label;     ///< what the run is called; empty: as read_traces() calls it
  /// rows that are packed together, at most 65,536: fewer are nearer to steps that are read alone, more
  /// take less
  std::uint32_t rows_of_block = 65536;
  /// bytes of files, now and then, from one thread at a time
  std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)> progress;
};
/// What was packed.
struct PackReport {
  std::uint64_t files = 0;             ///< that are in the pack
  std::uint64_t rows = 0;              ///< events in it
  std::uint64_t text_bytes = 0;        ///< of the unpacked JSON
  std::uint64_t bytes = 0;             ///< of the pack
  std::vector<Diagnostic> unreadable;  ///< files that were named or found but are no traces
};
/// Writes trace files as one pack: columns in compressed blocks, some dozen times smaller than JSON, which
/// read_traces() reads as it reads the files, and gives the same. Rows go through as they come: memory
/// does not grow with the files. Atomic; the same files give the same bytes, whatever the threads.
/// @param paths, prefix as of read_traces(); standard input is "-"
Result<PackReport> pack_traces(const std::vector<std::filesystem::path>& paths,
                               const std::filesystem::path& to, const PackOptions& options = {},
                               const std::string& prefix = "");

/// An operator of a PyTorch execution trace (schema 1.0.1 to 1.1.x) or Chakra protobuf node.
struct ExecutionNode {
  std::uint64_t id = 0;            ///< the node's number
  std::int64_t rf_id = kNoId;      ///< record function id; kNoId where the file has none
  std::int64_t thread = 0;         ///< number of the recording thread, 0 where the file has none
  std::uint32_t name = 0;          ///< string id
  std::uint32_t input_shapes = 0;  ///< string id, JSON text
  std::uint32_t input_types = 0;   ///< string id, JSON text
  std::uint32_t input_values = 0;  ///< string id, JSON text
};
/// Operators as PyTorch's observer or Chakra wrote them.
struct ExecutionTrace {
  std::string path;                  ///< of the file
  std::string schema;                ///< version it names
  std::optional<std::int32_t> rank;  ///< from the file, else from its name ("rank3", "run.3.et")
  std::vector<ExecutionNode> nodes;  ///< in file order
  Anomalies anomalies;               ///< of this file
};
/// Reads a PyTorch execution trace (JSON, plain or gzip) or a Chakra .et protobuf, told by content.
Result<ExecutionTrace> read_execution_trace(const std::filesystem::path& path,
                                            StringTable& strings);

/// How many rows of a trace found their node.
struct LinkReport {
  std::uint64_t rows = 0;    ///< cpu_op and user_annotation rows: both are recorded functions
  std::uint64_t nodes = 0;   ///< operator nodes of the execution trace
  std::uint64_t linked = 0;  ///< pairs with equal names
  std::string by;            ///< "record function id" or "order"
};
/// Gives cpu_op and record_param_comms rows the arguments of their nodes: by record function id
/// where both carry it, else by order (rows sorted by External id, nodes by rf_id; longest common
/// sequence of names, thread by thread). Arguments take the form they have in Kineto files
/// ("Tensor(float)" becomes "float"). Only what a row lacks is filled in: nothing it says itself is
/// changed.
LinkReport link_execution_trace(Trace& trace, const ExecutionTrace& execution,
                                StringTable& strings);

}  // namespace flopcast
