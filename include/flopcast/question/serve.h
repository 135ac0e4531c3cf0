// Floor 7: what `flopcast serve` asks of a deployment: what its clients see, and what would change that.
//
//   settings "users = 64, input = 1024, output = 1024, tp = 4"  flags, TOML, JSON, Python
//     -> ServeQuestion   a fleet, a workload, limits, a price
//     -> ServeAnswer     the run, its band, an iteration at the operating point, curves, what-ifs
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"
#include "flopcast/serving/fleet.h"
#include "flopcast/serving/search.h"
#include "flopcast/serving/servers.h"

namespace flopcast {

/// What a setting is about.
enum class ServeTopic : std::uint8_t {
  kDeployment,  ///< engine, layout, precision, how many
  kPools,       ///< prompts and answers on replicas of their own
  kLoad,        ///< who asks what, how often
  kEngine,      ///< the engine's own settings
  kFleet,       ///< router, starting and stopping, what dies
  kJudgement,   ///< limits, prices, measured points
};
/// A setting that flags, files and keyword arguments know.
struct ServeSetting {
  std::string_view name;     ///< "tp", "rate_scale"
  std::string_view takes;    ///< "N", "vllm|sglang|trtllm"; empty: "true" or "false"
  std::string_view meaning;  ///< one line, with the default
  ServeTopic topic = ServeTopic::kDeployment;
  bool repeats = false;  ///< may be given more than once
};
/// Every setting, in the order in which people want to read them.
std::span<const ServeSetting> serve_settings();

/// Values by name ('-' and '_' are the same), as given; of several of a name the last holds, but of those that repeat.
using ServeSettings = std::vector<std::pair<std::string, std::string>>;

/// A fleet, what it is asked, and what nobody said about it.
struct ServeQuestion {
  std::string model, cluster;  ///< as named
  ServeSettings settings;      ///< as given
  Fleet fleet;
  ServingWorkload workload;
  std::vector<ServiceLimit> limits;  ///< what goodput is judged by
  std::string slo;                   ///< the same as written
  std::string trace_name;            ///< of a trace: its file
  bool largest = false;  ///< the largest load within the limits is asked for; the workload has none
  double usd_per_chip_hour = 0;         ///< 0: not known
  std::vector<std::string> assumed;     ///< in words
  std::optional<LaunchedFlags> launch;  ///< of a launch that it was read from
};
/// The question that the settings ask. Replicas: as many as the cluster holds. Errors (kUsage): an unknown name, a
/// value that is no such choice, no load, more chips than there are; those of deployment_problems, all in one text.
/// Errors of files: theirs.
Result<ServeQuestion> make_serve_question(const std::string& model, const std::string& cluster,
                                          const ServeSettings& settings, const Catalog& catalog);

/// A question as it lies in a file: what is not told there, flags tell.
struct ServeFile {
  std::string model, cluster;  ///< empty: not told
  ServeSettings settings;
  std::optional<LaunchedFlags> launch;  ///< where it is what servers are started with
  std::vector<std::string> notes;       ///< what was taken where that leaves it open
};
/// TOML (`model = "..."`, `on = "..."`, settings by name, a table `set` of the engine's own), or JSON that
/// `flopcast serve --json` wrote: its question; or what servers are started with (flopcast/serving/servers.h): one
/// deployment's. Relative paths of traces and points are relative to the file. Errors
/// (kBadInput) name the line; whether there are such settings: make_serve_question. @param arguments of a script, as a shell takes them: "TP=4 8B"
Result<ServeFile> read_serve_file(const std::filesystem::path& path,
                                  const std::string& arguments = {});
/// The same from text. @param where,folder what errors name, what paths are relative to
Result<ServeFile> parse_serve_file(std::string_view text, const std::string& where,
                                   const std::filesystem::path& folder = {},
                                   const std::string& arguments = {});
/// The question that a file asks, with what was taken of a launch in `assumed`. Errors: make_serve_question's.
Result<ServeQuestion> make_serve_question(const ServeFile& file, const Catalog& catalog);
/// Why a launch is refused where every flag must count: those not modelled and those that nobody knows, by name.
std::optional<Diagnostic> strict_problem(const LaunchedFlags& flags, const std::string& where);

/// What a run comes to, in numbers that are compared.
struct ServeSummary {
  unsigned chips = 0;
  ServingPercentiles ttft, tpot, inter_token, latency;
  double output_tokens_per_s = 0, total_tokens_per_s = 0, requests_per_s = 0;
  double within = 0;                  ///< share of requests that keep every limit; 1 without limits
  double goodput_requests_per_s = 0;  ///< of those
  bool meets = false;                 ///< the limits on percentiles
  double usd_per_million_tokens = 0;  ///< of answers; 0: no price
  std::uint64_t answered = 0, lost = 0, unanswered = 0;
  std::int64_t preemptions = 0;
};
/// Of a run of this fleet. @param limits,usd_per_chip_hour as of a question
ServeSummary summarize_serving(const FleetRun& run, const Fleet& fleet,
                               std::span<const ServiceLimit> limits, double usd_per_chip_hour);

/// How surely limits hold, by the 10-90 % band of measured deployments around their forecasts.
enum class ServeVerdict : std::uint8_t {
  kSurely,    ///< at the slow end of the band too
  kLikely,    ///< by the forecast, not at the slow end
  kUnlikely,  ///< at the fast end alone
  kNot,       ///< not even there
};
std::string_view name(ServeVerdict verdict);  ///< "surely", "likely", "unlikely", "no"

/// The largest load within the limits: of the forecast, at both ends of its band, and what was tried.
struct ServeLargest {
  LoadMargin margin;
  std::vector<TriedLoad> tried, tried_slow, tried_fast;  ///< rising
};

/// A pool of replicas, at work.
struct ServePool {
  std::string role;       ///< "replica", "prefill", "decode"
  Deployment deployment;  ///< of each
  unsigned replicas = 0;
  ServingMemory memory;             ///< of a chip
  double kv_mean = 0, kv_peak = 0;  ///< share of blocks in use, over time; the most of any replica
  double busy = 0;                  ///< share of the time in iterations
  std::int64_t iterations = 0, preemptions = 0;  ///< of all replicas, where told
  /// the operating point: means over busy time of one replica
  double decodes = 0, waiting = 0, prefill_tokens = 0;
  double context = 0;        ///< tokens that an answer's attention reads, mean
  double prefill_share = 0;  ///< of busy time in iterations with prompts
  Time iteration;  ///< with the mean batch, without prompts (a prefill pool: with prompts)
  std::vector<IterationPart> parts;         ///< of that
  Time prompt_iteration;                    ///< the same batch with a prompt's chunk
  std::vector<IterationPart> prompt_parts;  ///< of that
  Basis basis = Basis::kAssumed;
  std::string source;  ///< in words
};

/// The clients' view in one interval, of requests sent in it.
struct ServeWindow {
  Time from, to;
  std::uint64_t sent = 0;
  ServingPercentiles ttft, tpot;
  double output_tokens_per_s = 0;  ///< of requests answered in it
};

/// The question with something changed.
struct ServeVariant {
  std::string change;  ///< "one replica more", "HBM bandwidth +10 %"
  ServeSummary summary;
  std::string refused;  ///< why it has no answer; empty: it has
};

/// The same deployment under another load.
struct ServeCurvePoint {
  double load = 0;  ///< users; requests a second; times the trace's rate
  ServeSummary summary;
};

/// What is computed besides the run itself.
struct ServeOptions {
  bool band = true;         ///< how far the answer may be off
  bool sensitivity = true;  ///< and with numbers of the machine changed by a tenth
  bool next = true;         ///< and with the next chips
  bool curve = false;       ///< and under other loads
  bool leap = true;         ///< FleetOptions::leap
  unsigned threads = 0;     ///< 0: all cores; no effect on the answer
  /// told after each load that is tried for the largest one: how many were; false stops
  std::function<bool(std::uint64_t)> progress;
};

/// Everything that is told of a question.
struct ServeAnswer {
  ServeQuestion question;
  FleetRun run;  ///< with samples
  ServeSummary summary;
  /// at both ends of the 10-90 % band of measured deployments of the engine (serving_bands): fast, slow
  std::optional<ServeSummary> low, high;
  std::optional<ServeVerdict> verdict;  ///< where there are limits and a band
  std::string load_unit;                ///< "users", "requests/s", "times the trace's rate"
  std::optional<ServeLargest>
      largest;                       ///< where it was asked for; all else is of a run at its load
  std::vector<ServePool> pools;      ///< one; prefill and decode where they are apart
  std::vector<ServeWindow> windows;  ///< over time
  std::vector<std::string> limits;   ///< what limits, in sentences, the most important first
  std::vector<ServeVariant> next;    ///< with the next chips
  std::vector<ServeVariant>
      sensitivity;  ///< a tenth more and a tenth less of the machine's numbers
  std::vector<ServeCurvePoint> curve;
};
/// Runs the question. Errors: those of PreparedFleet and its run; kTooLarge where weights do not fit, with the nearest
/// layout that does; kNoAnswer: no load holds the limits, or it was stopped.
Result<ServeAnswer> answer_serving(const ServeQuestion& question, const Catalog& catalog,
                                   const ServeOptions& options = {});

}  // namespace flopcast
