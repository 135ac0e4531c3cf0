// Floor 5: what is asked of a fleet: closed loops as benchmark clients run them, open loops by rate, traces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// One request of a workload.
struct ServingRequest {
  Time arrival;             ///< at the client; closed loops: unused
  std::int64_t input = 0;   ///< tokens of the prompt
  std::int64_t output = 1;  ///< tokens of the answer, the end mark ignored; at least 1
  std::uint32_t prefix_begin = 0, prefix_end = 0;  ///< its blocks in RequestList::prefixes
  std::uint32_t session = 0;  ///< 0: none; else a router may keep it with its own
};
/// Requests in order of arrival. Prefix blocks are hashes of everything up to their end (chained), so
/// that two requests share a prefix as far as their hashes are equal.
struct RequestList {
  std::vector<ServingRequest> requests;
  std::vector<std::uint64_t> prefixes;  ///< of all requests, one after the other
  std::int64_t prefix_block = 0;        ///< tokens of a prefix block; 0: no prefixes are known
  Anomalies anomalies;                  ///< rows left out: counted, the first one named
};

/// Formats told apart by their first line:
///   TIMESTAMP,ContextTokens,GeneratedTokens              Azure (2023, 2024)
///   {"timestamp": ms, "input_length", "output_length", "hash_ids": [...]}   Mooncake, 512-token blocks
///   arrival_s,input,output[,session]                     one's own
///   {"request_id", "input_toks", "output_toks", "arrival_time", "queued_ts", ...}   measured vLLM timelines
/// Errors name the line: cannot be read, none of these, no usable row.
Result<RequestList> read_requests(const std::filesystem::path& path);
/// The same from text; `where` names it in errors.
Result<RequestList> parse_requests(std::string_view text, const std::string& where);

/// How requests come.
struct ServingWorkload {
  /// Who decides when the next request is sent.
  enum class Kind : std::uint8_t {
    kClosed,  ///< `users` clients, each sends its next request when the last is answered; all at once at the start
    kRate,    ///< Poisson arrivals of `rate` a second, or even where `burstiness` is 0
    kTrace,   ///< as recorded
  };
  Kind kind = Kind::kClosed;
  std::int64_t users = 0;  ///< kClosed
  double rate = 0;         ///< requests a second, kRate
  double burstiness = 1;   ///< squared coefficient of variation of the gaps (gamma); 0: even
  /// requests that count, in all; 0: 10 a user, those of ten minutes of a rate (500 to 50,000), or the whole trace. More
  /// than the trace has: it is said again, a mean gap after its last request, as often as it takes
  std::int64_t count = 0;
  std::int64_t input = 0, output = 0;  ///< tokens; kTrace: the trace's
  /// lengths are uniform in [(1 - spread) L, L], as bench_serving's random-range-ratio draws them
  double spread = 0;
  /// requests before the ones that count (closed loops): the first of those again and again; all are
  /// answered before the count begins
  std::int64_t warm_up = 0;
  double shared_prefix = 0;   ///< share of the prompt that all requests of a session have in common
  std::int64_t sessions = 0;  ///< how many sessions; 0: one
  std::uint64_t seed = 1;     ///< of lengths and gaps
  double time_scale = 1;      ///< kTrace: rates are multiplied by this
  RequestList trace;          ///< kTrace
};
/// How many requests count: `count`, or as many as its 0 means. 0 of an empty trace.
std::int64_t counted_requests(const ServingWorkload& workload);
/// What is asked at another load: users, requests a second or times the trace's rate, by its kind.
ServingWorkload at_load(ServingWorkload workload, double load);
/// The requests of a workload, warm-up first: arrivals too, but for closed loops. Deterministic in the seed; a
/// request's lengths do not depend on how many there are.
/// Errors (kUsage): numbers that make no sense; (kTooLarge): more requests than fit in memory.
Result<RequestList> make_requests(const ServingWorkload& workload);

}  // namespace flopcast
