// Floor 6: measured deployments: what was run, what is wrong with the row, what we say of it; calibration by a point.
//
//   auto points = read_serving_points("serving.json");   points of closed loops, layouts repaired
//   label_defects(*points);                              what is wrong with which, by rules with names
//   auto said = forecast_points(*points, Catalog::builtin());
//   serving_errors(said, ServingQuantity::kTtft, ...)    how far off; layout_ranks(said): would one pick right
//
// Rules and what they rest on: docs/reference/serving.md; errors: docs/validation/serving.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving/fleet.h"

namespace flopcast {

/// One measured point: means over the requests of a closed loop.
struct ServingPoint {
  std::string id;                ///< as the file has it
  std::string engine;            ///< "vllm", "sglang", "trtllm"
  std::string version;           ///< of the engine; empty: not told
  std::string model;             ///< as told, "deepseek-ai/DeepSeek-R1"
  std::string chip;              ///< as told, "h200_sxm"
  std::string precision;         ///< "bf16", "fp8", "fp4", "int4"; from `gemm` where not told
  std::string date;              ///< of the run, "2026-03-25"; empty: not told
  std::string origin;            ///< the file it was taken from
  bool disaggregated = false;    ///< prompts and answers are computed by different workers
  std::int64_t input = 0;        ///< tokens of the longest prompt
  std::int64_t output = 0;       ///< of the longest answer
  std::int64_t users = 0;        ///< clients that each wait for their answer; 0: not told
  ServingLayout layout;          ///< of a replica, or of a worker that computes prompts
  ServingLayout decode;          ///< of a worker that makes answers, where disaggregated
  unsigned prefill_workers = 0;  ///< 0: not told
  unsigned decode_workers = 0;   ///< 0: not told
  std::string gemm, experts;     ///< quantisation as told
  Seconds ttft, tpot;            ///< 0: not measured
  bool known_protocol = false;   ///< the benchmark client is public
  std::string
      repaired;  ///< how a layout was read whose labels contradict each other; empty: as told
  std::string excluded;    ///< name of the rule that excludes it; empty: clean
  unsigned chips() const;  ///< of all workers; of one replica where aggregated
  /// tokens of answers a second and chip that follow from users, TTFT and TPOT by Little's law; 0 where one is not known
  double throughput(Seconds first, Seconds each) const;
};
/// A file of them, in the schema of docs/reference/serving.md. Errors name the entry.
Result<std::vector<ServingPoint>> read_serving_points(const std::filesystem::path& path);
/// The same from text; `where` names it in errors.
Result<std::vector<ServingPoint>> parse_serving_points(std::string_view json,
                                                       const std::string& where);
/// Names the rule that excludes each: rests on metadata or contradictions between rows, never on our forecast.
void label_defects(std::vector<ServingPoint>& points);
/// A rule of label_defects, and why.
struct ServingRule {
  std::string_view name;  ///< "duplicate"
  std::string_view why;   ///< one sentence
};
/// All of them, in the order in which they are tried.
std::span<const ServingRule> serving_rules();

/// What we say of one.
struct ServingForecast {
  const ServingPoint* point = nullptr;  ///< of this; outlives it
  Seconds ttft, tpot;                   ///< means, as the clients of the point's protocol see them
  double ttft_low = 1, ttft_high = 1, tpot_low = 1, tpot_high = 1;  ///< band, factors
  std::string refused;            ///< why there is no forecast; empty: there is
  Basis basis = Basis::kAssumed;  ///< the weakest of what it rests on
};
/// In the order of the points. Deterministic for any number of threads.
std::vector<ServingForecast> forecast_points(std::span<const ServingPoint> points,
                                             const Catalog& catalog, unsigned threads = 0);
/// What runs at the point, with the engine's settings of its launch where they are published. Errors:
/// an unknown engine, model, chip or precision; no users; workers without a count.
Result<Fleet> fleet_of(const ServingPoint& point, const Catalog& catalog,
                       const ServingFactors& factors = {});
/// What its clients send. @pre the point tells users and lengths.
ServingWorkload workload_of(const ServingPoint& point);

/// Factors that make the forecast of these points of one deployment theirs. Errors (kBadInput): no
/// point, or of several deployments; those of simulate().
Result<ServingFactors> calibrate_serving(std::span<const ServingPoint> points,
                                         const Catalog& catalog);
/// Points as a table: engine, model, chip, input, output, users, ttft_ms, tpot_ms; precision (bf16), tp, dp, ep, pp (1),
/// version, date and client where there are such columns. `client` inferencex: lengths, warm-up and launch settings are
/// those of that benchmark; else lengths are as given, and settings the engine's defaults. Errors name the line.
Result<std::vector<ServingPoint>> read_points_csv(const std::filesystem::path& path);
/// Factors of a deployment, as a file keeps them between `flopcast calibrate serving` and forecasts.
struct ServingCalibration {
  std::string engine, model, chip, precision;  ///< as the points tell them
  ServingLayout layout;                        ///< likewise
  std::int64_t input = 0, output = 0;          ///< lengths of the points
  std::vector<std::int64_t> users;             ///< of the points
  ServingFactors factors;                      ///< found
};
/// Of every deployment among the points, in the order of their first ones. Errors: see calibrate_serving().
Result<std::vector<ServingCalibration>> calibrate_deployments(std::span<const ServingPoint> points,
                                                              const Catalog& catalog);
/// The file's text: TOML, a table [[deployment]] for each.
std::string serving_calibration_toml(std::span<const ServingCalibration> calibrations);
/// Such a file. Errors name the place.
Result<std::vector<ServingCalibration>> parse_serving_calibration(std::string_view text,
                                                                  const std::string& where);
/// The factors of the one of the same engine, model and layout; the lengths nearest to `input`, where several are.
/// Errors (kBadInput): there is none, with those there are.
Result<ServingFactors> factors_for(std::span<const ServingCalibration> calibrations,
                                   const Deployment& deployment, std::int64_t input);
/// Each point forecast with the factors of one other point of its deployment: the one with users nearest to the
/// middle of the deployment's, by ratio. Deployments of one point are left out.
std::vector<ServingForecast> forecast_siblings(std::span<const ServingPoint> points,
                                               const Catalog& catalog, unsigned threads = 0);

/// 10-90 % bands of mean TTFT and mean TPOT, as factors of a forecast.
struct ServingBands {
  /// One band.
  struct Factors {
    double low = 1;   ///< measured / forecast is below it in a tenth of the cases
    double high = 1;  ///< above it in another
  };
  Factors ttft, tpot;  ///< of means over requests
};
/// Those of an engine ("vllm") on the public points: catalog/serving/bands.toml. Wide where it has none.
/// @param disaggregated prompts and answers on replicas of their own
ServingBands serving_bands(std::string_view engine, bool disaggregated);

/// What errors are of.
enum class ServingQuantity : std::uint8_t { kTtft, kTpot, kThroughput };
/// How far forecasts are off: errors are forecast / measured - 1.
struct ServingErrors {
  std::size_t n = 0;                     ///< forecasts and measured
  double mape = 0, median = 0, p90 = 0;  ///< of the errors' sizes, as shares
  double factor = 1;                     ///< exp(mean |ln(forecast / measured)|)
  double bias = 0;                       ///< mean error
  double band = 0;                       ///< share measured within the band
};
/// Over the forecasts of points that have the quantity; refused ones are left out.
ServingErrors serving_errors(std::span<const ServingForecast* const> forecasts,
                             ServingQuantity quantity);
/// Whether forecasts put layouts in the right order: of each set of clean points with the same engine, model, chip,
/// precision, lengths and users and at least three layouts.
struct LayoutRanks {
  std::size_t sets = 0;  ///< how many there are
  double spearman = 0;   ///< mean correlation of ranks by tokens a second and chip
  double lost = 0;       ///< mean share of tokens lost by taking the layout forecast best
};
/// See LayoutRanks.
LayoutRanks layout_ranks(std::span<const ServingForecast* const> forecasts);

/// A measured timeline of one engine. Times are the engine's own: from when a request is queued.
struct ServingTimeline {
  RequestList requests;                   ///< in order of arrival
  std::vector<Time> ttft, tpot, latency;  ///< of each request
};
/// JSON lines with input_toks, output_toks, queued_ts, first_token_ts, last_token_ts in seconds. Errors name the line.
Result<ServingTimeline> read_serving_timeline(const std::filesystem::path& path);
/// The same from text; `where` names it in errors.
Result<ServingTimeline> parse_serving_timeline(std::string_view text, const std::string& where);
/// What ran it: `engine_kwargs`, `kv_cache` and `hardware` of the JSON beside it. `chip` where that does not tell one; ""
/// takes the first word of the file's name that is a chip. Errors: see fleet_of().
Result<Deployment> timeline_deployment(const std::filesystem::path& meta, std::string_view chip,
                                       const Catalog& catalog);
/// A timeline beside what the simulator makes of its arrivals.
struct TimelineForecast {
  ServingPercentiles measured_ttft, measured_tpot, measured_latency;  ///< measured
  ServingPercentiles ttft, tpot, latency;                             ///< forecast
  double output_tokens_per_s = 0, measured_output_tokens_per_s = 0;   ///< of answers
  std::int64_t kv_blocks = 0;                                         ///< of the replica
  std::int64_t preemptions = 0;                                       ///< forecast
  Basis basis = Basis::kAssumed;  ///< the weakest of what it rests on
};
/// Errors: those of simulate().
Result<TimelineForecast> forecast_timeline(const ServingTimeline& timeline,
                                           const Deployment& deployment, const Catalog& catalog);

/// A measured maximum: every request is there at the start.
struct OfflinePoint {
  std::string model, chip, precision;  ///< as told
  ServingLayout layout;                ///< tensor parallel
  std::int64_t input = 0, output = 0;  ///< tokens
  double tokens_per_s = 0;             ///< of answers, all chips
  double forecast = 0;                 ///< what we say; 0: refused
  std::string refused;                 ///< why
  bool experts = false;                ///< the model has such
};
/// "trtllm_max_throughput" of such a file; empty: it has none. Errors name the entry.
Result<std::vector<OfflinePoint>> read_offline_points(const std::filesystem::path& path);
/// Of the points with, or without, experts. There is no band.
ServingErrors offline_errors(std::span<const OfflinePoint> points, bool experts);
/// Fills in `forecast`, `refused` and `experts`.
void forecast_offline(std::span<OfflinePoint> points, const Catalog& catalog, unsigned threads = 0);

/// Which points of a file are looked at; empty: all.
struct ServingFilter {
  std::string engine;                           ///< "vllm"
  std::vector<std::string> chips;               ///< as the points tell them
  std::vector<std::string> models;              ///< words of their names
  bool takes(const ServingPoint& point) const;  ///< whether it is one of them
};

/// A file of measured points, and what we say of the clean ones.
struct ServingValidation {
  /// all that were taken: clean aggregated ones of the public client, other clean ones, excluded ones
  std::vector<ServingPoint> points;
  std::vector<ServingForecast> forecasts;  ///< of clean points
  std::vector<ServingForecast> siblings;   ///< with one measured point of the deployment
  std::vector<OfflinePoint> offline;       ///< measured maxima
};
/// How to make one.
struct ServingValidationOptions {
  ServingFilter filter;  ///< which points
  bool siblings = true;  ///< with one measured point, too
  bool offline = true;   ///< measured maxima, too
  unsigned threads = 0;  ///< 0: all cores
  /// read in place of catalog/serving/constants.toml for the rest of the process: fits; empty: that
  std::filesystem::path constants;
};
/// Reads, labels, forecasts. Errors: those of the file; a filter that takes nothing.
Result<ServingValidation> validate_serving(const std::filesystem::path& path,
                                           const Catalog& catalog,
                                           const ServingValidationOptions& options);

}  // namespace flopcast
