// Floor 6: what each section of a file of expected values is compared with.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "published/dfmodel/file.h"
#include "published/dfmodel/runs.h"

namespace flopcast::published {

/// Runs, each made when it is first asked for.
class PublishedResults {
 public:
  PublishedResults(const Catalog& catalog, unsigned threads)
      : catalog_(&catalog), threads_(threads) {}

  const Catalog& catalog() const { return *catalog_; }
  unsigned threads() const { return threads_; }
  /// All 80 in the order of published_systems.
  Result<std::vector<PublishedPoint>> design(PublishedWorkload workload);
  /// Makes those of `names` that are systems, in parallel.
  std::optional<Diagnostic> prepare(PublishedWorkload workload,
                                    const std::vector<std::string>& names);
  /// One of them; nothing where no system is called so.
  const Result<PublishedPoint>* point(PublishedWorkload workload, const std::string& name);
  const Result<PublishedPoint>& table(TableRow row);
  Result<PublishedPoint> run(std::string name, const Result<MappingRequest>& request) const {
    return run_published(std::move(name), request, threads_);
  }

 private:
  const Catalog* catalog_;
  unsigned threads_;
  std::array<std::map<std::string, Result<PublishedPoint>>, kPublishedWorkloads> design_;
  std::array<std::optional<Result<PublishedPoint>>, kTableRows> table_;
};

/// A ratio of two designs that the paper states in its text.
struct PublishedClaim {
  std::string text;  ///< as the expected values name it
  double paper = 0, got = 0;
};
/// Of the language model's points: geometric means over pairs of systems that differ in nothing else.
std::vector<PublishedClaim> language_claims(const std::vector<PublishedPoint>& points);
/// Of DLRM's and FFT's: utilisation, per dollar, per watt.
struct PublishedClaims {
  std::string_view name;  ///< "nvlink_pcie"
  std::array<double, 3> got{};
};
std::vector<PublishedClaims> network_claims(const std::vector<PublishedPoint>& points);

/// c[0] + c[1] x + c[2] x^2, least squares.
std::array<double, 3> fit_quadratic(const std::vector<double>& x, const std::vector<double>& y);
/// The four chips of the design space: TFLOP/s, USD, kW.
struct ChipFit {
  std::vector<std::string> chips;
  std::vector<double> tflops, usd, kilowatts;
  std::array<double, 3> power{}, price{};
};
Result<ChipFit> fit_chips(const Catalog& catalog);

/// FLOP per byte of DRAM and of links, and TFLOP/s, of a chip and of a layer's model FLOP.
struct PublishedRoofline {
  double memory_intensity = 0, network_intensity = 0, tflops = 0;
};
PublishedRoofline published_roofline(const PublishedPoint& point, Flops layer_work);

void check_accelerators(Comparison& file, PublishedResults& results);
void check_memory(Comparison& file, PublishedResults& results);
void check_power_fit(Comparison& file, PublishedResults& results);
void check_workloads(Comparison& file, PublishedResults& results);
void check_ideals(Comparison& file, PublishedResults& results);
void check_milp(Comparison& file, PublishedResults& results);
void check_table(Comparison& file, PublishedResults& results);
void check_roofline(Comparison& file, PublishedResults& results);
void check_sram(Comparison& file, PublishedResults& results);
void check_language_logs(Comparison& file, PublishedResults& results);
void check_language_points(Comparison& file, PublishedResults& results);
void check_language_claims(Comparison& file, PublishedResults& results);
void check_dlrm(Comparison& file, PublishedResults& results);
void check_fft(Comparison& file, PublishedResults& results);
void check_hpl(Comparison& file, PublishedResults& results);
void check_rail_only(Comparison& file, PublishedResults& results);
void check_calculon(Comparison& file, PublishedResults& results);
void check_serving(Comparison& file, PublishedResults& results);
void check_stacked_memory(Comparison& file, PublishedResults& results);

}  // namespace flopcast::published
