#include "network/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/files/read_file.h"
#include "base/text/versions.h"
#include "catalog_files.h"
#include "network/collective/levels.h"
#include "network/fit/constants.h"

namespace flopcast {

using namespace network;  // the room's own names

const Relations& CollectiveFit::State::relations() const {
  std::call_once(once_, [this] { relations_ = std::make_unique<Relations>(systems); });
  return *relations_;
}

SystemBands CollectiveFit::State::bands_of(std::string_view system) const {
  const auto read = bands.find(system);
  return read != bands.end() ? read->second : relations().find_bands(system);
}

namespace {

PooledForms fit_forms(const std::vector<MeasuredCurve>& curves) {
  std::map<std::pair<CollectiveOp, std::string>, std::vector<const MeasuredCurve*>> groups;
  for (const MeasuredCurve& curve : curves) {
    groups[{curve.what.op, launch_mode(curve.what)}].push_back(&curve);
  }
  PooledForms forms;
  for (const auto& [of, members] : groups) forms[of] = fit_pooled(members);
  return forms;
}

/// Curves of this very case; version and type where the case names them.
std::vector<const MeasuredCurve*> same_case(const MeasuredSystem& system,
                                            const CollectiveCase& what, bool any_version) {
  std::vector<const MeasuredCurve*> same;
  for (const MeasuredCurve& curve : system.curves) {
    const CollectiveCase& other = curve.what;
    if (other.op != what.op || other.ranks != what.ranks || other.nodes != what.nodes) continue;
    if (other.library != what.library) continue;
    if (!any_version && other.version != what.version) continue;
    if (!any_version && !what.type.empty() && other.type != what.type) continue;
    same.push_back(&curve);
  }
  return same;
}

/// The mean of curves in log time, at all their knots.
LogCurve mean_curve(const std::vector<const MeasuredCurve*>& curves) {
  if (curves.size() == 1) return curves[0]->curve;
  std::vector<double> sizes;
  for (const MeasuredCurve* curve : curves) {
    sizes.insert(sizes.end(), curve->curve.log2_size.begin(), curve->curve.log2_size.end());
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  LogCurve mean;
  for (const double size : sizes) {
    double sum = 0, count = 0;
    for (const MeasuredCurve* curve : curves) {
      if (curve->curve.covers(size)) sum += curve->curve.at(size), ++count;
    }
    mean.log2_size.push_back(size);
    mean.log_time.push_back(sum / count);
  }
  make_monotone(mean.log_time);
  return mean;
}

/// Root mean square of log(knot / form).
double misfit(const LogCurve& curve, const CollectiveFit::Curve::State& state) {
  double sum = 0;
  for (std::size_t i = 0; i < curve.log_time.size(); ++i) {
    const double off =
        curve.log_time[i] - std::log(state.form_seconds(std::exp2(curve.log2_size[i])));
    sum += off * off;
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(curve.log_time.size(), 1)));
}

std::string in_words(std::string_view how, const CollectiveCase& what) {
  return fmt::format("{} {} {}, {} ranks on {} {}, {} {}", how, what.system, name(what.op),
                     what.ranks, what.nodes, what.nodes == 1 ? "node" : "nodes", what.library,
                     what.version);
}

using CurveState = CollectiveFit::Curve::State;

void take_table(CurveState& state, const MeasuredSystem& system,
                const std::vector<const MeasuredCurve*>& same) {
  state.knots = mean_curve(same);
  state.sd = {fit_constants().repeat};
  state.between = bands_between(system.curves);
  state.basis = Basis::kTable;
  state.source = in_words("table", same.front()->what) + ": " + same.front()->source;
}

/// The mean as knots that do not fall: low-latency messages between cards over PCIe take longer than NCCL reckons when it
/// chooses, so that times step down where it leaves them for others.
void take_mean(CurveState& state) {
  constexpr int kPerOctave = 8;
  double longest = 0;
  for (int i = 0; i <= kLastPower * kPerOctave; ++i) {
    const double power = static_cast<double>(i) / kPerOctave;
    longest = std::max(longest, state.mean->at(state.what, std::exp2(power)));
    state.knots.log2_size.push_back(power);
    state.knots.log_time.push_back(std::log(longest));
  }
}

void take_form(CurveState& state, const std::vector<const MeasuredCurve*>& same) {
  state.basis = Basis::kFitted;
  if (same.empty()) {
    take_mean(state);
    state.sd = {fit_constants().pooled_misfit};
    state.source = in_words("pooled form", state.what);
  } else {
    const LogCurve mean = mean_curve(same);
    state.terms = same.size() == 1 ? same[0]->terms : fit_three_terms(mean);
    state.sd = {misfit(mean, state)};
    state.source = in_words("a + bS + c sqrt(S) of", same.front()->what);
  }
}

Distance distance_of(const MeasuredSystem& system, const CollectiveCase& what) {
  Distance distance = Distance::kRanks;
  for (const MeasuredCurve& curve : system.curves) {
    const CollectiveCase& other = curve.what;
    if (other.ranks != what.ranks || other.nodes != what.nodes) continue;
    if (other.op == what.op && other.library == what.library) return Distance::kVersion;
    distance = Distance::kOperation;
  }
  return distance;
}

void take_estimate(CurveState& state, const Kriging::Estimate& estimate) {
  for (std::size_t i = 0; i < estimate.log_ratio.size(); ++i) {
    const double power = estimate.first + static_cast<double>(i);
    state.knots.log2_size.push_back(power);
    state.knots.log_time.push_back(std::log(state.mean->at(state.what, std::exp2(power))) +
                                   estimate.log_ratio[i]);
  }
  make_monotone(state.knots.log_time);
  state.sd = estimate.sd;
}

void take_kriging(CurveState& state, const CollectiveFit::State& fit) {
  const CollectiveCase& what = state.what;
  const Relations& relations = fit.relations();
  const Kin kin(what, relations.platform(what.system));
  take_estimate(state, relations.kriging(kin).estimate(kin));
  const Distance distance = distance_of(fit.systems.find(what.system)->second, what);
  const SystemBands bands = fit.bands_of(what.system);
  state.bands = bands[what.nodes > 1 ? 1 : 0][static_cast<std::size_t>(distance)];
  const bool measured = distance == Distance::kVersion;
  state.basis = measured ? Basis::kTable : Basis::kFitted;
  state.source = in_words(measured ? "other versions of" : "fit to relatives of", what);
}

std::string newest_anywhere(const CollectiveFit::State& fit, std::string_view library) {
  std::string best;
  for (const auto& [name, system] : fit.systems) {
    for (const MeasuredCurve& curve : system.curves) {
      const bool newer = best.empty() || older_version(best, curve.what.version);
      if (curve.what.library == library && newer) best = curve.what.version;
    }
  }
  return best;
}

}  // namespace

std::unique_ptr<CollectiveFit::State> network::fit_of_curves(std::vector<MeasuredCurve> curves) {
  auto state = std::make_unique<CollectiveFit::State>();
  for (MeasuredCurve& curve : curves) {
    state->systems[curve.what.system].curves.push_back(std::move(curve));
  }
  for (auto& [name, system] : state->systems) system.forms = fit_forms(system.curves);
  return state;
}

CollectiveFit::CollectiveFit(std::unique_ptr<State> state) : state_(std::move(state)) {}
CollectiveFit::CollectiveFit(CollectiveFit&&) noexcept = default;
CollectiveFit& CollectiveFit::operator=(CollectiveFit&&) noexcept = default;
CollectiveFit::~CollectiveFit() = default;

CollectiveFit CollectiveFit::make(std::span<const CollectiveSample> samples) {
  return CollectiveFit(fit_of_curves(fit_curves(samples)));
}

Result<CollectiveFit> CollectiveFit::parse(std::string_view text, const std::string& where) {
  auto state = std::make_unique<State>();
  if (auto error = read_fit(text, where, *state)) return *error;
  return CollectiveFit(std::move(state));
}

Result<CollectiveFit> CollectiveFit::load(const std::filesystem::path& file) {
  const Result<std::string> text =
      read_file(file, "flopcast calibrate network FILE.csv -o FIT.toml makes one");
  if (!text) return text.error();
  return parse(*text, file.string());
}

const CollectiveFit& CollectiveFit::builtin() {
  static const CollectiveFit fit = [] {
    auto state = std::make_unique<State>();
    for (const CatalogFile& file : catalog_files()) {
      constexpr std::string_view kFolder = "collectives/", kSystems = "collectives/systems.toml",
                                 kConstants = "collectives/constants.toml";
      const bool fits =
          file.path.starts_with(kFolder) && file.path != kSystems && file.path != kConstants;
      if (!fits) continue;
      // Compiled in and read by a test: what cannot be read is left out.
      (void)read_fit(file.text, "catalog/" + std::string(file.path), *state);
    }
    return CollectiveFit(std::move(state));
  }();
  return fit;
}

CollectiveFit CollectiveFit::without(const std::set<CollectiveCase>& cases) const {
  std::vector<MeasuredCurve> rest;
  for (const auto& [name, system] : state_->systems) {
    std::ranges::copy_if(system.curves, std::back_inserter(rest),
                         [&](const MeasuredCurve& curve) { return !cases.contains(curve.what); });
  }
  return CollectiveFit(fit_of_curves(std::move(rest)));
}

std::string CollectiveFit::toml() const { return write_fit(*state_); }

std::vector<std::string> CollectiveFit::systems() const {
  std::vector<std::string> names;
  for (const auto& [name, system] : state_->systems) names.push_back(name);
  return names;
}

bool CollectiveFit::measured(std::string_view system, CollectiveOp op, bool across_nodes) const {
  const auto found = state_->systems.find(system);
  if (found == state_->systems.end()) return false;
  return std::ranges::any_of(found->second.curves, [&](const MeasuredCurve& curve) {
    return curve.what.op == op && (curve.what.nodes > 1) == across_nodes;
  });
}

std::string CollectiveFit::library(std::string_view system, CollectiveOp op) const {
  std::string best;
  const auto found = state_->systems.find(system);
  if (found == state_->systems.end()) return best;
  for (const MeasuredCurve& curve : found->second.curves) {
    if (curve.what.op != op) continue;
    if (curve.what.library == "NCCL") return curve.what.library;
    if (best.empty()) best = curve.what.library;
  }
  return best;
}

std::string CollectiveFit::chip(std::string_view system) const {
  const auto found = state_->systems.find(system);
  return found == state_->systems.end() || found->second.curves.empty()
             ? std::string()
             : found->second.curves.front().chip;
}

std::size_t CollectiveFit::curves() const {
  std::size_t count = 0;
  for (const auto& [name, system] : state_->systems) count += system.curves.size();
  return count;
}

std::string CollectiveFit::newest(std::string_view system, std::string_view library) const {
  std::string best;
  const auto found = state_->systems.find(system);
  if (found == state_->systems.end()) return best;
  for (const MeasuredCurve& curve : found->second.curves) {
    if (curve.what.library != library) continue;
    if (best.empty() || older_version(best, curve.what.version)) best = curve.what.version;
  }
  return best;
}

std::optional<CollectiveFit::Curve> CollectiveFit::curve(const CollectiveCase& asked,
                                                         CollectiveSource source) const {
  const auto found = state_->systems.find(asked.system);
  if (found == state_->systems.end() || found->second.curves.empty()) return std::nullopt;
  const MeasuredSystem& system = found->second;
  auto state = std::make_shared<Curve::State>();
  state->what = asked;
  if (asked.version.empty()) state->what.version = newest(asked.system, asked.library);
  state->mean = {std::shared_ptr<const MeanTime>(), &state_->relations().mean(asked.system)};
  std::vector<const MeasuredCurve*> same = same_case(system, state->what, false);
  const bool measured = !same.empty();
  if (!measured) same = same_case(system, state->what, true);
  switch (source) {
    case CollectiveSource::kTable:
      if (same.empty()) return std::nullopt;
      take_table(*state, system, same);
      break;
    case CollectiveSource::kFitted:
      take_form(*state, same);
      break;
    case CollectiveSource::kBest:
      if (measured) {
        take_table(*state, system, same);
      } else {
        take_kriging(*state, *state_);
      }
      break;
    default:
      return std::nullopt;
  }
  state->find_spreads();
  return Curve(std::move(state));
}

std::optional<CollectiveFit::Curve> CollectiveFit::curve_on(const Cluster& cluster,
                                                            const CollectiveCase& asked) const {
  if (asked.nodes > 1 || !runs_nccl(cluster)) return std::nullopt;
  auto state = std::make_shared<Curve::State>();
  state->what = asked;
  if (asked.version.empty()) state->what.version = newest_anywhere(*state_, asked.library);
  const Platform platform = platform_of(cluster);
  const Kin kin(state->what, platform);
  const Kriging::Estimate estimate = state_->relations().abroad(kin).estimate(kin);
  if (estimate.log_ratio.empty()) return std::nullopt;
  state->mean = std::make_shared<MeanTime>(cluster);
  take_estimate(*state, estimate);
  state->bands =
      kin.joint->over_pcie ? fit_constants().unmeasured_pcie : fit_constants().unmeasured_nvlink;
  state->basis = Basis::kFitted;
  state->source = fmt::format("fit to {} on other systems, over NCCL's constants for {}",
                              name(asked.op), cluster.name);
  state->find_spreads();
  return Curve(std::move(state));
}

void CurveState::find_spreads() {
  spreads.resize(sd.size());
  for (std::size_t i = 0; i < sd.size(); ++i) {
    for (std::size_t c = 0; c < kSizeClasses; ++c) {
      // Noise of the measurement and error of the interpolation are independent.
      spreads[i][c] = {std::exp(-std::hypot(bands[c].low * sd[i], between[c].low)),
                       std::exp(std::hypot(bands[c].high * sd[i], between[c].high))};
    }
  }
}

const CurveState::Spread& CurveState::spread(double bytes, double log2) const {
  std::size_t i = spreads.size() - 1;
  if (i > 0) {
    const double at = std::clamp(log2 - knots.log2_size.front(), 0.0, static_cast<double>(i));
    i = static_cast<std::size_t>(at);
  }
  return spreads[i][size_class(bytes)];
}

Seconds CurveState::time(double bytes, double log2) const {
  if (knots.empty()) return {form_seconds(bytes)};
  const double inside = std::exp(knots.at(log2));
  if (log2 <= knots.log2_size.back()) return {inside};
  // Beyond the last knot the form's growth, which tends to a constant bandwidth.
  const double last = std::exp2(knots.log2_size.back());
  return {inside * form_seconds(bytes) / form_seconds(last)};
}

namespace {
double log2_of(Bytes size) { return std::log2(std::max(size.value, 1.0)); }
}  // namespace

Seconds CollectiveFit::Curve::time(Bytes size) const {
  return state_->time(size.value, log2_of(size));
}

Basis CollectiveFit::Curve::basis() const { return state_->basis; }
const std::string& CollectiveFit::Curve::source() const { return state_->source; }

CollectiveFit::Answer CollectiveFit::Curve::at(Bytes size) const {
  const double log2 = log2_of(size);
  const Seconds time = state_->time(size.value, log2);
  const CurveState::Spread& spread = state_->spread(size.value, log2);
  return {time, time * spread.low, time * spread.high, state_->basis, state_->source};
}

}  // namespace flopcast
