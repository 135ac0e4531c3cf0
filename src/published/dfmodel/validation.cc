#include <algorithm>
#include <cmath>

#include "base/files/read_file.h"
#include "published/dfmodel/sections.h"

namespace flopcast {
namespace {

using namespace published;

using CheckSection = void (*)(Comparison&, PublishedResults&);
constexpr CheckSection kSections[] = {
    check_accelerators,    check_memory,   check_power_fit,     check_workloads,
    check_table,           check_roofline, check_language_logs, check_language_points,
    check_language_claims, check_dlrm,     check_fft,           check_hpl,
    check_rail_only,       check_calculon, check_sram,          check_serving,
    check_stacked_memory,  check_ideals,   check_milp,
};

}  // namespace

std::string_view name(PublishedKind kind) {
  switch (kind) {
    case PublishedKind::kHeld:
      return "held";
    case PublishedKind::kUnconverged:
      return "unconverged";
    case PublishedKind::kPaper:
      break;
  }
  return "paper";
}

double PublishedCheck::relative() const {
  return expected == 0 ? got : (got - expected) / std::abs(expected);
}

double PublishedCheck::unexplained() const {
  const double left = std::abs(got - expected) - rounding;
  if (std::isnan(left)) return left;
  return std::max(0.0, expected == 0 ? left : left / std::abs(expected));
}

std::uint64_t PublishedValidation::count(PublishedKind kind) const {
  return static_cast<std::uint64_t>(std::count_if(
      checks.begin(), checks.end(), [kind](const auto& c) { return c.kind == kind; }));
}

const PublishedCheck* PublishedValidation::worst() const {
  const PublishedCheck* worst = nullptr;
  for (const PublishedCheck& check : checks) {
    if (check.kind != PublishedKind::kHeld) continue;
    const bool worse = worst == nullptr || std::isnan(check.unexplained()) ||
                       check.unexplained() > worst->unexplained();
    if (worse) worst = &check;
  }
  return worst;
}

double PublishedValidation::max_rel() const {
  return worst() == nullptr ? 0 : worst()->unexplained();
}

Result<PublishedValidation> validate_published(std::string_view json, const std::string& where,
                                               const Catalog& catalog, unsigned threads) {
  const Result<nlohmann::json> file = parse_expected(json, where);
  if (!file) return file.error();
  Comparison comparison(*file);
  PublishedResults results(catalog, threads);
  for (const CheckSection check : kSections) check(comparison, results);
  return std::move(comparison).finish();
}

Result<PublishedValidation> validate_published(const std::filesystem::path& path,
                                               const Catalog& catalog, unsigned threads) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return validate_published(*text, path.string(), catalog, threads);
}

}  // namespace flopcast
