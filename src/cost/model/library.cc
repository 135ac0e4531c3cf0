#include "cost/model/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "catalog_files.h"
#include "cost/model/fits_file.h"
#include "flopcast/cost/kernel_fit.h"

namespace flopcast::cost {
namespace {

constexpr std::string_view kFolder = "kernels/";
constexpr std::string_view kExtension = ".toml";

/// The shipped fits of one chip. They are part of the program and its tests parse every one of
/// them; should one not parse, it counts as absent.
std::shared_ptr<const Fits> built_in(const CatalogFile& file) {
  static std::mutex mutex;
  static std::map<std::string_view, std::shared_ptr<const Fits>> parsed;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const Fits>& fits = parsed[file.path];
  if (!fits) {
    const auto result = parse_fits(file.text, std::string(file.path));
    fits = result ? *result : std::make_shared<const Fits>();
  }
  return fits;
}

std::string_view chip_of(const CatalogFile& file) {
  std::string_view name = file.path;
  if (!name.starts_with(kFolder) || !name.ends_with(kExtension)) return {};
  name.remove_prefix(kFolder.size());
  name.remove_suffix(kExtension.size());
  return name;
}

double log_ratio(double a, double b) { return a > 0 && b > 0 ? std::abs(std::log2(a / b)) : 1; }

Diagnostic no_fits_of(const std::string& relative) {
  std::vector<std::string> known;
  for (const CatalogFile& file : catalog_files()) {
    if (!chip_of(file).empty()) known.emplace_back(chip_of(file));
  }
  return {ErrorCode::kUsage, relative, "the catalogue holds no kernel measurements of this chip",
          fmt::format("those it holds: {}", fmt::join(known, ", "))};
}

}  // namespace

double chip_distance(const Chip& a, const Chip& b) {
  if (a.name == b.name) return 0;
  const double rates = log_ratio(matrix_rates(a, DataType::kBf16).rates.flops,
                                 matrix_rates(b, DataType::kBf16).rates.flops) +
                       log_ratio(a.hbm_bandwidth.value, b.hbm_bandwidth.value);
  if (a.architecture == b.architecture) return 1 + std::min(0.9, 0.2 * rates);
  return 2 + (a.vendor == b.vendor ? 0 : 1) + std::min(0.9, 0.1 * rates);
}

double transfer_uncertainty(const Chip& a, const Chip& b) {
  if (a.name == b.name) return 1;
  if (a.architecture == b.architecture) return 1.1;
  return a.vendor == b.vendor ? 1.205 : 1.4;
}

Candidate candidate_of(std::shared_ptr<const Fits> fits) {
  const std::string chip = fits->chip;
  return {chip, 0, 1, [fits = std::move(fits)] { return fits; }, true};
}

Result<std::vector<Candidate>> candidates_for(const Chip& chip, const Catalog& catalog,
                                              const KernelModelOptions& options) {
  std::vector<Candidate> out;
  for (const OwnKernels& own : options.own) {
    out.push_back(candidate_of(own.fit.shared()));
    out.back().file = own.file;
  }
  std::string only;
  if (!options.relative.empty()) {
    const Result<Chip> relative = catalog.chip(options.relative);
    if (!relative) return relative.error();
    only = relative->name;
  }
  for (const CatalogFile& file : catalog_files()) {
    const std::string name(chip_of(file));
    if (name.empty() || (!only.empty() && name != only)) continue;
    const Result<Chip> relative = catalog.chip(name);
    if (!relative) continue;
    out.push_back({name, chip_distance(chip, *relative), transfer_uncertainty(chip, *relative),
                   [&file] { return built_in(file); }, false});
  }
  if (!only.empty() && out.size() == options.own.size()) return no_fits_of(only);
  std::stable_sort(out.begin(), out.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  return out;
}

}  // namespace flopcast::cost
