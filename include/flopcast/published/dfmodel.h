// Floor 6: numbers published with DFModel beside what the search gives for the same runs.
//
//   Result<PublishedValidation> v = validate_published(path, Catalog::builtin());
//   v->max_rel()      of all numbers that must agree
//   published_study("fig07", Catalog::builtin())     the points of one figure, computed
//
// Every run is a MappingRequest in paper mode with the published settings
// (src/published/dfmodel/runs.h): nothing is computed by a formula of its own that map_workload can
// express.
// Source: Ko et al., "DFModel", figures 7-22, table VI, and the setups and logs of its code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"

namespace flopcast {

/// How far a published number binds us.
enum class PublishedKind : std::uint8_t {
  kHeld,         ///< must agree
  kUnconverged,  ///< a log whose solver stopped early or left slack: the optimum is below it
  kPaper,        ///< as the paper prints it, from other parameters or rounded oddly
};
std::string_view name(PublishedKind kind);  ///< "held", "unconverged", "paper"

/// One number of a file.
struct PublishedCheck {
  std::string section, name, field;  ///< "llm_dse_read", "sn30/2d_torus_ddr_pcie", "final_s"
  double expected = 0, got = 0;      ///< the file's number; ours
  double rounding = 0;  ///< half a unit of the last digit that `expected` was written with
  PublishedKind kind = PublishedKind::kHeld;  ///< how it is judged

  /// got / expected - 1; `got` where 0 is expected.
  double relative() const;
  /// |relative()| less what the rounding explains.
  double unexplained() const;
};

/// Numbers of a file that nothing is compared with.
struct PublishedGap {
  std::string section, name, why;  ///< where they are; the reason
  std::uint64_t numbers = 0;       ///< how many
};

/// What the comparison found.
struct PublishedValidation {
  std::vector<PublishedCheck> checks;   ///< in the order of sections below
  std::vector<PublishedGap> unchecked;  ///< all other numbers of the file

  std::uint64_t count(PublishedKind kind) const;  ///< checks of this kind
  /// Worst of those held; nothing where there is none.
  const PublishedCheck* worst() const;
  double max_rel() const;  ///< its unexplained(); 0 where there is none
};

/// Compares all numbers of a JSON file of sections: accelerators, memory_interconnect, power_fit,
/// workloads, table_VI, llm_dse_read, llm_dse80_recomputed {points}, points, llm_dse_claims, dlrm,
/// fft, hpl, fig7_rail_only, fig8_calculon, fig18_roofline, fig19, fig20_serving, fig22_3d, dp_stats,
/// milp_stats. Any may be missing; what is not a number where one belongs is among `unchecked`.
/// @param where names the text in errors
/// Errors (kBadInput): no JSON object (says the line); a catalogue without the published chips.
Result<PublishedValidation> validate_published(std::string_view json, const std::string& where,
                                               const Catalog& catalog, unsigned threads = 0);
/// Errors: also where there is no such file.
Result<PublishedValidation> validate_published(const std::filesystem::path& path,
                                               const Catalog& catalog, unsigned threads = 0);

/// The points of one figure.
struct PublishedStudy {
  /// text, or a number in the unit that its column's title names
  using Cell = std::variant<std::string, double>;
  std::string name, title;              ///< "fig07"; a title for people
  std::vector<std::string> columns;     ///< units in names
  std::vector<std::vector<Cell>> rows;  ///< by column
};
/// Names and titles: "fig07", "Rail-Only: ...".
std::vector<std::pair<std::string, std::string>> published_studies();
/// Errors (kUsage): no such study (the nearest are listed); those of map_workload.
Result<PublishedStudy> published_study(std::string_view name, const Catalog& catalog,
                                       unsigned threads = 0);

}  // namespace flopcast
