// From one chip to another: classes' floors and rates, or both chips' own fits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "cost/forms/rates.h"
#include "cost/model/library.h"
#include "cost/operators/tables.h"
#include "flopcast/cost/operators.h"

namespace flopcast {

namespace cost {

/// A chip with an operator table of its own, or the nearest chip that has one.
struct ChipSide {
  const ChipSpeeds* speeds = nullptr;
  double uncertainty = 1;
  bool own = false;
};

}  // namespace cost

using namespace cost;  // the room's own names

namespace {

constexpr double kShort = 10e-6;  // seconds, on the chip it was recorded on: as in the tables
/// Where neither name nor operator tells what a kernel does, it is bound by one of these.
constexpr std::array<ClassRate, 3> kAnyRate = {ClassRate::kBandwidth, ClassRate::kMatrix,
                                               ClassRate::kCores};
constexpr double kUnknownSpread = 1.5;
/// What chips without a table of their own reach of their rates: an A100 streams at 0.87 of the share
/// that an H100 has (Vidur's layer profiles).
constexpr double kShareSpread = 1.15;
Result<ChipSide> side_of(const Chip& chip, const OperatorTables& tables, const Catalog& catalog) {
  ChipSide best;
  double least = HUGE_VAL;
  for (const ChipSpeeds& speeds : tables.chips) {
    const Result<Chip> measured = catalog.chip(speeds.chip);
    if (!measured) return measured.error();
    const double distance = chip_distance(chip, *measured);
    if (distance >= least) continue;
    least = distance;
    best = {&speeds, transfer_uncertainty(chip, *measured), distance == 0};
  }
  if (best.speeds == nullptr) {
    return Diagnostic{ErrorCode::kBadInput, "catalog/operators", "holds no chip", "rebuild"};
  }
  return best;
}

/// Cycles a second of all cores together. A core has 64 lanes or 128, each good for two FLOP of fp32
/// a cycle: those that make a clock a chip can have. @return 0 where the chip's rates tell none
double cycles_of(const Chip& chip) {
  constexpr double kSlowest = 1e9, kFastest = 2.8e9;
  const double flops = chip.vector_rate(DataType::kFp32).value;
  for (const double lanes : {64.0, 128.0}) {
    const double cycles = flops / (2 * lanes);
    const double clock = chip.cores > 0 ? cycles / chip.cores : 0;
    if (clock > kSlowest && clock < kFastest) return cycles;
  }
  return 0;
}

double rate_of(const Chip& chip, ClassRate rate, DataType type) {
  constexpr double kUsualClock = 1.8e9;
  const Rates rates = matrix_rates(chip, type).rates;
  if (rate == ClassRate::kBandwidth) return rates.bandwidth;
  if (rate == ClassRate::kMatrix) return rates.flops;
  const double cycles = cycles_of(chip);
  return cycles > 0 ? cycles : rates.cores * kUsualClock;
}

DataType type_of(std::span<const OperatorInput> inputs, std::string_view kernel) {
  for (const OperatorInput& input : inputs) {
    if (input.type && input.size.size() > 1) return *input.type;
  }
  const auto has = [kernel](std::string_view word) {
    return kernel.find(word) != std::string_view::npos;
  };
  if (has("fp8") || has("e4m3")) return DataType::kFp8;
  if (has("tf32")) return DataType::kTf32;
  if (has("sgemm")) return DataType::kFp32;
  if (has("f16f16") || has("h884") || has("hgemm") || has("half")) return DataType::kFp16;
  return DataType::kBf16;
}

/// Independent factors, as one.
double together(double a, double b) { return std::exp(std::hypot(std::log(a), std::log(b))); }

}  // namespace

struct ChipRatios::State {
  std::shared_ptr<const OperatorTables> tables;
  Chip from, to;
  ChipSide from_side, to_side;
  KernelModel from_model, to_model;
  std::string basis, fits_basis;

  /// Floor and rate of either chip. A kernel shorter than the floor takes the floor; what is shorter
  /// than half of it is no launch as others are.
  double moved(double seconds, const ClassSpeed& a, const ClassSpeed& b, double ratio) const {
    const double floor =
        a.floor_s > 0 ? b.floor_s * std::min(2 * seconds / a.floor_s, 1.0) : b.floor_s;
    return floor + ratio * std::max(seconds - a.floor_s, 0.0);
  }
  double uncertainty() const {
    // Both by one table: what differs is their rates alone.
    if (from_side.speeds == to_side.speeds) return transfer_uncertainty(from, to);
    return together(from_side.uncertainty, to_side.uncertainty);
  }
  MovedTime by_class(std::size_t kind, const RecordedKernel& kernel, double seconds) const;
  MovedTime by_nothing(double seconds) const;
  std::optional<MovedTime> by_fits(const RecordedKernel& kernel, double seconds) const;
};

MovedTime ChipRatios::State::by_class(std::size_t kind, const RecordedKernel& kernel,
                                      double seconds) const {
  const OperatorClass& what = tables->classes[kind];
  const ClassSpeed& a = from_side.speeds->classes[kind];
  const ClassSpeed& b = to_side.speeds->classes[kind];
  const DataType type = type_of(kernel.inputs, kernel.name);
  const double ratio =
      rate_of(from, what.rate, type) * a.share / (rate_of(to, what.rate, type) * b.share);
  const double time = moved(seconds, a, b, ratio);
  const std::size_t size = seconds < kShort ? 0 : 1;
  // Between chips of one table long kernels of a class are alike; how long a launch takes is not.
  const bool alike = from_side.speeds == to_side.speeds && size == 1;
  const double own = alike ? kShareSpread : std::max(a.spread[size], b.spread[size]);
  const double spread = together(own, uncertainty());
  const bool fitted = from_side.own && to_side.own;
  return {{time},          {time / spread},
          {time * spread}, fitted ? Basis::kFitted : Basis::kRoofline,
          what.name,       basis};
}

MovedTime ChipRatios::State::by_nothing(double seconds) const {
  double least = HUGE_VAL, most = 0;
  for (const ClassRate rate : kAnyRate) {
    const double ratio = rate_of(from, rate, DataType::kBf16) / rate_of(to, rate, DataType::kBf16);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  const double spread = together(kUnknownSpread, uncertainty());
  return {{seconds * std::sqrt(least * most)},
          {seconds * least / spread},
          {seconds * most * spread},
          Basis::kAssumed,
          "unknown",
          "between the ratios of their rates: nothing tells what bounds it"};
}

std::optional<MovedTime> ChipRatios::State::by_fits(const RecordedKernel& kernel,
                                                    double seconds) const {
  const auto shape = operator_kernel(kernel.operation, kernel.inputs, kernel.name);
  if (!shape) return std::nullopt;
  const KernelTime a = from_model.time(*shape), b = to_model.time(*shape);
  if (a.basis > Basis::kFitted || b.basis > Basis::kFitted) return std::nullopt;
  const double ratio = b.time.value / a.time.value;
  const auto wide = [](double x, double y) { return std::max(x / y, 1.0); };
  const double below = together(wide(b.time.value, b.low.value), wide(a.high.value, a.time.value));
  const double above = together(wide(b.high.value, b.time.value), wide(a.time.value, a.low.value));
  const double time = seconds * ratio;
  return MovedTime{{time},
                   {time / below},
                   {time * above},
                   Basis::kFitted,
                   std::holds_alternative<Gemm>(*shape) ? "gemm" : "attention",
                   fits_basis};
}

Result<ChipRatios> ChipRatios::make(const Chip& from, const Chip& to, const Catalog& catalog) {
  Result<std::shared_ptr<const OperatorTables>> tables = operator_tables();
  if (!tables) return tables.error();
  const Result<ChipSide> from_side = side_of(from, **tables, catalog);
  if (!from_side) return from_side.error();
  const Result<ChipSide> to_side = side_of(to, **tables, catalog);
  if (!to_side) return to_side.error();
  Result<KernelModel> from_model = KernelModel::make(from, catalog);
  if (!from_model) return from_model.error();
  Result<KernelModel> to_model = KernelModel::make(to, catalog);
  if (!to_model) return to_model.error();
  const auto told = [](const Chip& chip, const ChipSide& side) {
    return side.own ? fmt::format("{} as measured", chip.name)
                    : fmt::format("{} as {}, scaled by its rates", chip.name, side.speeds->chip);
  };
  auto state = std::make_unique<State>(
      State{*tables, from, to, *from_side, *to_side, std::move(*from_model), std::move(*to_model),
            fmt::format("{}; {}", told(from, *from_side), told(to, *to_side)),
            fmt::format("ratio of the fits of {} and {}", from.name, to.name)});
  return ChipRatios(std::move(state));
}

std::size_t ChipRatios::class_of(const RecordedKernel& kernel) const {
  return state_->tables->classes.of(kernel);
}

MovedTime ChipRatios::time(const RecordedKernel& kernel, Seconds on_from) const {
  return time(class_of(kernel), kernel, on_from);
}

MovedTime ChipRatios::time(std::size_t kind, const RecordedKernel& kernel, Seconds on_from) const {
  const double seconds = std::max(on_from.value, 0.0);
  if (kind >= state_->tables->classes.size()) return state_->by_nothing(seconds);
  // Fits hold shapes that fast kernels take.
  const std::string& name = state_->tables->classes[kind].name;
  if (!measured() && (name == "gemm" || name == "attention")) {
    if (auto moved = state_->by_fits(kernel, seconds)) return *moved;
  }
  return state_->by_class(kind, kernel, seconds);
}

bool ChipRatios::measured() const { return state_->from_side.own && state_->to_side.own; }
const std::string& ChipRatios::basis() const { return state_->basis; }

ChipRatios::ChipRatios(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChipRatios::ChipRatios(ChipRatios&&) noexcept = default;
ChipRatios& ChipRatios::operator=(ChipRatios&&) noexcept = default;
ChipRatios::~ChipRatios() = default;

}  // namespace flopcast
