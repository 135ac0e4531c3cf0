#include "cli/run/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/layout/fit.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/timelines.h"
#include "flopcast/replay.h"
#include "flopcast/report/live.h"
#include "flopcast/report/replay.h"
#include "flopcast/trace/io.h"
#include "flopcast/whatif.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

/// A recording is read as a whole folder: nothing else may lie in it.
std::optional<Diagnostic> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const bool empty = !error && fs::is_empty(folder, error);
  if (empty && ::access(folder.c_str(), W_OK) == 0) return std::nullopt;
  return Diagnostic{ErrorCode::kBadInput, folder.string(),
                    error ? "cannot be made: " + error.message()
                          : std::string(empty ? "cannot be written to" : "is not empty"),
                    "name an empty folder, or one that is not there yet, with --recording"};
}

int write_json(Io& io, const fs::path& path, const LiveReport& report) {
  if (path.empty()) return kDone;
  const std::string document = live_json(report);
  if (const int code = write_told(io, "results", path, document); code != kDone) return code;
  return kDone;
}

/// The page of a replay: what a profiler would have recorded of the run, and what that explains of it.
int write_replay(Io& io, const fs::path& path, const LiveReport& report) {
  if (path.empty()) return kDone;
  Result<TraceSet> timeline = report.timeline(std::nullopt);
  if (!timeline) return fail(io, timeline.error());
  std::string unknown = live_unknown_work(report);
  std::replace(unknown.begin(), unknown.end(), '\n', ' ');
  if (!unknown.empty()) timeline->anomalies.add("unknown work", [&] { return unknown; });
  Result<Replay> replayed = replay(*timeline);
  if (!replayed) return fail(io, replayed.error());
  tell_worth(*timeline, {}, *replayed);
  return write_page(io, path, replay_html(*timeline, *replayed));
}

/// A recording as profilers leave it: a file a rank. One rank after the other, so that no more is in memory.
int write_recording(Io& io, const fs::path& folder, const LiveReport& report) {
  if (folder.empty()) return kDone;
  std::uint64_t bytes = 0;
  for (const LiveRank& rank : report.ranks) {
    const Result<TraceSet> timeline = report.timeline(rank.rank);
    if (!timeline) return fail(io, timeline.error());
    const Result<std::uint64_t> written =
        write_kineto(*timeline, folder / fmt::format("rank{}.json.gz", rank.rank));
    if (!written) return fail(io, written.error());
    bytes += *written;
  }
  report_file(io, "recording", folder, bytes);
  return kDone;
}

/// One line: whose fault it was. The script has said the rest itself.
void tell_failure(Io& io, const LiveFailure& failure) {
  const std::string who = failure.rank < 0 ? "the launcher" : fmt::format("rank {}", failure.rank);
  const std::string how = failure.status > 128
                              ? fmt::format("was ended by signal {} ({})", failure.status - 128,
                                            ::strsignal(failure.status - 128))
                              : fmt::format("ended with status {}", failure.status);
  const std::string last(escaped(sentence(failure.last_line)));
  // As the dynamic linker has it: a PyTorch newer than the stand-ins, mostly.
  const bool lacks = last.find("undefined symbol") != std::string::npos;
  io.err << fmt::format("flopcast: error: {} {}{}{}\n", who, how, last.empty() ? "" : ": " + last,
                        lacks ? " (flopcast run --doctor lists what nothing stands in for)" : "")
         << std::flush;
}

}  // namespace

std::optional<Diagnostic> LiveFiles::problem() const {
  if (!recording.empty()) {
    if (auto problem = make_folder(recording)) return problem;
  }
  constexpr std::uintmax_t kLeast = std::uintmax_t{16} << 20;
  std::vector<fs::path> files = trace_out;
  for (const fs::path& file : {html, json, capture, recording / "rank0.json.gz"}) {
    if (!file.empty()) files.push_back(file);
  }
  for (const fs::path& file : files) {
    std::error_code error;
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    const fs::space_info space = fs::space(folder, error);
    if (error || !fs::exists(folder, error) || space.available >= kLeast) continue;
    return Diagnostic{ErrorCode::kBadInput, file.string(),
                      fmt::format("its disk has {} left",
                                  short_bytes(static_cast<std::int64_t>(space.available))),
                      "free some space, or name another place"};
  }
  return std::nullopt;
}

void add_live_files(CLI::App& app, LiveFiles& files) {
  add_trace_out(app, "the run as a timeline", files.trace_out);
  app.add_option("--recording", files.recording,
                 "Write the run as torch.profiler would record it, a file a rank, for `flopcast "
                 "replay DIR`; an empty folder, or none yet")
      ->type_name("DIR");
  add_page(app, files.html);
  as_output(app.add_option("--json", files.json, "Write the summary as JSON")->type_name("FILE"));
}

int write_live_files(Io& io, const LiveFiles& files, const LiveReport& report) {
  if (const int code = write_json(io, files.json, report); code != kDone) return code;
  if (const int code = write_recording(io, files.recording, report); code != kDone) return code;
  if (const int code = write_replay(io, files.html, report); code != kDone) return code;
  if (files.trace_out.empty()) return kDone;
  const Result<TraceSet> timeline = report.timeline(std::nullopt);
  if (!timeline) return fail(io, timeline.error());
  return write_timelines(io, files.trace_out, *timeline);
}

int tell_run(Io& io, const LiveFiles& files, const LiveReport& report) {
  io.err << '\n' << fit_text(escaped_lines(live_text(report)), io.width) << std::flush;
  if (report.failure && !report.stopped) tell_failure(io, *report.failure);
  return write_live_files(io, files, report);
}

}  // namespace flopcast::cli
