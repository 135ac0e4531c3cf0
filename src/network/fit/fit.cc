#include "network/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/files/read_file.h"
#include "base/numeric/quantile.h"
#include "catalog_files.h"

namespace flopcast {

using namespace network;  // the room's own names

std::size_t network::size_class(double bytes) {
  return bytes < 64 * 1024 ? 0 : bytes < 4 * 1048576 ? 1 : bytes < 64 * 1048576 ? 2 : 3;
}

std::string_view network::size_class_name(std::size_t size_class) {
  constexpr std::string_view kNames[] = {"< 64 KB", "64 KB - 4 MB", "4 - 64 MB", ">= 64 MB"};
  return kNames[size_class];
}

bool network::older_version(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text, std::size_t& at) {
    std::uint64_t value = 0;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) {
      value = value * 10 + static_cast<std::uint64_t>(text[at++] - '0');
    }
    return value;
  };
  // A name ("nccl-tests") is older than any number.
  const auto named = [](std::string_view text) {
    return text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]));
  };
  if (named(a) != named(b)) return named(a);
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const bool digits = std::isdigit(static_cast<unsigned char>(a[i])) &&
                        std::isdigit(static_cast<unsigned char>(b[j]));
    if (digits) {
      const std::uint64_t x = number(a, i), y = number(b, j);
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

namespace {

/// Scores by size class; the last: all of them, for classes that have too few.
using Scores = std::array<std::vector<double>, kSizeClasses + 1>;

/// @param otherwise where there are too few scores
std::array<Band, kSizeClasses> bands_of(Scores scores, const Band& otherwise) {
  constexpr std::size_t kEnough = 20;
  for (auto& values : scores) std::ranges::sort(values);
  std::array<Band, kSizeClasses> bands;
  bands.fill(otherwise);
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    const auto& own = scores[i].size() >= kEnough ? scores[i] : scores.back();
    if (own.size() < kEnough) continue;
    bands[i] = {std::min(to_digits(quantile(own, 0.1), kTimeDigits), 0.0),
                std::max(to_digits(quantile(own, 0.9), kTimeDigits), 0.0)};
  }
  return bands;
}

std::array<Band, kSizeClasses> bands_of(const std::vector<Kriging::Miss>& misses) {
  Scores scores;
  for (const Kriging::Miss& miss : misses) {
    scores[size_class(std::exp2(miss.power))].push_back(miss.error / miss.sd);
    scores.back().push_back(miss.error / miss.sd);
  }
  return bands_of(std::move(scores), Band{});
}

/// Every inner knot against the line through its neighbours.
std::array<Band, kSizeClasses> bands_between(const std::vector<MeasuredCurve>& curves) {
  Scores scores;
  for (const MeasuredCurve& measured : curves) {
    const std::vector<double>& size = measured.curve.log2_size;
    const std::vector<double>& time = measured.curve.log_time;
    for (std::size_t i = 1; i + 1 < size.size(); ++i) {
      const double share = (size[i] - size[i - 1]) / (size[i + 1] - size[i - 1]);
      const double miss = time[i] - (time[i - 1] + share * (time[i + 1] - time[i - 1]));
      scores[size_class(std::exp2(size[i]))].push_back(miss);
      scores.back().push_back(miss);
    }
  }
  return bands_of(std::move(scores), Band{0, 0});
}

}  // namespace

void CollectiveFit::State::System::prepare() const {
  std::call_once(once_, [this] {
    std::vector<const MeasuredCurve*> all;
    for (const MeasuredCurve& curve : curves) all.push_back(&curve);
    mean_ = std::make_unique<MeanTime>(curves, forms, reference_of(curves.front().what.system));
    kriging_ = std::make_unique<Kriging>(std::move(all), *mean_);
    between_ = bands_between(curves);
  });
}

const Kriging& CollectiveFit::State::System::kriging() const {
  prepare();
  return *kriging_;
}

const std::array<Band, kSizeClasses>& CollectiveFit::State::System::between() const {
  prepare();
  return between_;
}

const MeanTime& CollectiveFit::State::System::mean() const {
  prepare();
  return *mean_;
}

namespace {

PooledForms fit_forms(const std::vector<MeasuredCurve>& curves) {
  std::map<std::pair<CollectiveOp, std::string>, std::vector<const MeasuredCurve*>> groups;
  for (const MeasuredCurve& curve : curves) {
    groups[{curve.what.op, launch_mode(curve.what.library)}].push_back(&curve);
  }
  PooledForms forms;
  for (const auto& [of, members] : groups) forms[of] = fit_pooled(members);
  return forms;
}

/// Curves of this very case; version and type where the case names them.
std::vector<const MeasuredCurve*> same_case(const CollectiveFit::State::System& system,
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

void take_table(CurveState& state, const std::vector<const MeasuredCurve*>& same) {
  constexpr double kRepeat = 0.05;  // between runs of one case, the note on noise in the docs
  state.knots = mean_curve(same);
  state.sd = {kRepeat};
  state.basis = Basis::kTable;
  state.source = in_words("table", same.front()->what) + ": " + same.front()->source;
}

void take_form(CurveState& state, const std::vector<const MeasuredCurve*>& same) {
  constexpr double kPooledMisfit = 0.2;
  state.basis = Basis::kFitted;
  if (same.empty()) {
    state.sd = {kPooledMisfit};
    state.source = in_words("pooled form", state.what);
  } else {
    const LogCurve mean = mean_curve(same);
    state.terms = same.size() == 1 ? same[0]->terms : fit_three_terms(mean);
    state.sd = {misfit(mean, state)};
    state.source = in_words("a + bS + c sqrt(S) of", same.front()->what);
  }
}

void take_kriging(CurveState& state, const CollectiveFit::State::System& system, bool measured) {
  Kriging::Estimate estimate = system.kriging().estimate(state.what);
  for (std::size_t i = 0; i < estimate.log_time.size(); ++i) {
    state.knots.log2_size.push_back(estimate.first + static_cast<double>(i));
  }
  state.knots.log_time = std::move(estimate.log_time);
  state.sd = std::move(estimate.sd);
  state.bands = measured ? system.bands.table : system.bands.fitted;
  if (measured) state.between = system.between();
  state.basis = measured ? Basis::kTable : Basis::kFitted;
  state.source = in_words(measured ? "table" : "fit to relatives of", state.what);
}

}  // namespace

SystemBands network::fit_bands(const Kriging& kriging) {
  return {bands_of(kriging.misses(false)), bands_of(kriging.misses(true))};
}

CollectiveFit::CollectiveFit(std::unique_ptr<State> state) : state_(std::move(state)) {}
CollectiveFit::CollectiveFit(CollectiveFit&&) noexcept = default;
CollectiveFit& CollectiveFit::operator=(CollectiveFit&&) noexcept = default;
CollectiveFit::~CollectiveFit() = default;

CollectiveFit CollectiveFit::make(std::span<const CollectiveSample> samples) {
  auto state = std::make_unique<State>();
  for (MeasuredCurve& curve : fit_curves(samples)) {
    state->systems[curve.what.system].curves.push_back(std::move(curve));
  }
  for (auto& [name, system] : state->systems) {
    system.forms = fit_forms(system.curves);
    system.bands = fit_bands(system.kriging());
  }
  return CollectiveFit(std::move(state));
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
      constexpr std::string_view kFolder = "collectives/";
      if (!file.path.starts_with(kFolder) || file.path.ends_with("/systems.toml")) continue;
      // Compiled in and read by a test: what cannot be read is left out.
      (void)read_fit(file.text, "catalog/" + std::string(file.path), *state);
    }
    return CollectiveFit(std::move(state));
  }();
  return fit;
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
  const State::System& system = found->second;
  auto state = std::make_shared<Curve::State>();
  state->what = asked;
  if (asked.version.empty()) state->what.version = newest(asked.system, asked.library);
  state->mean = &system.mean();
  std::vector<const MeasuredCurve*> same = same_case(system, state->what, false);
  const std::vector<const MeasuredCurve*> kin = same_case(system, state->what, true);
  if (same.empty()) same = kin;
  switch (source) {
    case CollectiveSource::kTable:
      if (same.empty()) return std::nullopt;
      take_table(*state, same);
      break;
    case CollectiveSource::kFitted:
      take_form(*state, same);
      break;
    case CollectiveSource::kBest:
      take_kriging(*state, system, !kin.empty());
      break;
    default:
      return std::nullopt;
  }
  return Curve(std::move(state));
}

Seconds CollectiveFit::Curve::time(Bytes size) const {
  const LogCurve& knots = state_->knots;
  if (knots.empty()) return {state_->form_seconds(size.value)};
  const double log2 = std::log2(std::max(size.value, 1.0));
  const double inside = std::exp(knots.at(log2));
  if (log2 <= knots.log2_size.back()) return {inside};
  // Beyond the last knot the form's growth, which tends to a constant bandwidth.
  const double last = std::exp2(knots.log2_size.back());
  return {inside * state_->form_seconds(size.value) / state_->form_seconds(last)};
}

Basis CollectiveFit::Curve::basis() const { return state_->basis; }
const std::string& CollectiveFit::Curve::source() const { return state_->source; }

CollectiveFit::Answer CollectiveFit::Curve::at(Bytes size) const {
  const Seconds time = this->time(size);
  const Band& band = state_->bands[size_class(size.value)];
  double sd = state_->sd.back();
  if (state_->sd.size() > 1) {
    const double at = std::log2(std::max(size.value, 1.0)) - state_->knots.log2_size.front();
    const double last = static_cast<double>(state_->sd.size() - 1);
    sd = state_->sd[static_cast<std::size_t>(std::clamp(at, 0.0, last))];
  }
  // Noise of the measurement and error of the interpolation are independent.
  const Band& between = state_->between[size_class(size.value)];
  return {time, time * std::exp(-std::hypot(band.low * sd, between.low)),
          time * std::exp(std::hypot(band.high * sd, between.high)), state_->basis, state_->source};
}

}  // namespace flopcast
