// Measured curves on machines with other numbers: what holds whatever the numbers.
#include "network/forecast/moved.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "flopcast/network/fit.h"

namespace flopcast::network {
namespace {

using Op = CollectiveOp;

/// Sums and powers are rounded.
constexpr double kRounding = 1e-12;

double any_factor(double octaves) {
  const int most = static_cast<int>(octaves * 8);
  return std::exp2(*rc::gen::inRange(-most, most + 1) / 8.0);
}

/// Latency and bandwidth of a form, and where it changes over to half the bytes a second.
struct AnyForm {
  double latency = 1e-5, per_byte = 1e-11, change = 1e6;
  std::optional<Seconds> at(Bytes size) const {
    const double bytes = size.value;
    return Seconds{latency + per_byte * (bytes + std::max(0.0, bytes - change))};
  }
};

AnyForm any_form() { return {1e-5 * any_factor(8), 1e-11 * any_factor(8), 1e6 * any_factor(12)}; }

/// As of fits: linear between knots in log-log, flat before and past them.
struct AnyCurve {
  std::vector<double> log_time = {std::log(1e-5)};  ///< at 2^0, 2^2, 2^4 ...
  Seconds at(Bytes size) const {
    const double x = std::log2(std::max(size.value, 1.0)) / 2;
    const auto last = static_cast<double>(log_time.size() - 1);
    const double clamped = std::min(x, last), left = std::min(std::floor(clamped), last - 1);
    const auto i = static_cast<std::size_t>(left);
    return {std::exp(std::lerp(log_time[i], log_time[i + 1], clamped - left))};
  }
};

AnyCurve any_curve() {
  AnyCurve curve;
  for (int i = 0; i < 20; ++i) {
    const bool rises = *rc::gen::inRange(0, 2) == 1;
    curve.log_time.push_back(curve.log_time.back() +
                             (rises ? *rc::gen::inRange(0, 200) / 100.0 : 0));
  }
  return curve;
}

MovedCurve moved_by_forms(const AnyCurve& curve, const AnyForm& before, const AnyForm& after) {
  return {[&](Bytes size) { return curve.at(size); }, [&](Bytes size) { return before.at(size); },
          [&](Bytes size) { return after.at(size); }};
}

double seconds_of(const MovedCurve& moved, const AnyCurve& curve, double bytes) {
  const Seconds measured = curve.at({bytes});
  return measured.value * moved.factor({bytes}, measured);
}

const std::vector<double>& many_sizes() {
  static const std::vector<double> sizes = [] {
    std::vector<double> all = {0, 1, 3};
    for (int i = 32; i <= 46 * 16; ++i) all.push_back(std::exp2(i / 16.0 + 0.01));
    return all;
  }();
  return sizes;
}

RC_GTEST_PROP(MovedCurveProperty, NeverFallsWithSize, ()) {
  const AnyCurve curve = any_curve();
  const MovedCurve moved = moved_by_forms(curve, any_form(), any_form());
  double before = 0;
  for (const double bytes : many_sizes()) {
    const double now = seconds_of(moved, curve, bytes);
    RC_ASSERT(now >= before * (1 - kRounding));
    before = now;
  }
}

RC_GTEST_PROP(MovedCurveProperty, RisesWithWhatTheFormRisesWith, ()) {
  const AnyCurve curve = any_curve();
  const AnyForm form = any_form(), faster = any_form();
  AnyForm slower = faster;
  slower.latency *= std::max(1.0, any_factor(4));
  slower.per_byte *= std::max(1.0, any_factor(4));
  const MovedCurve a = moved_by_forms(curve, form, faster), b = moved_by_forms(curve, form, slower);
  for (const double bytes : many_sizes()) {
    RC_ASSERT(seconds_of(b, curve, bytes) >= seconds_of(a, curve, bytes) * (1 - kRounding));
  }
}

RC_GTEST_PROP(MovedCurveProperty, IsWhatWasMeasuredWhereFormsAgree, ()) {
  const AnyCurve curve = any_curve();
  const AnyForm form = any_form();
  const MovedCurve moved = moved_by_forms(curve, form, form);
  for (const double bytes : many_sizes()) {
    RC_ASSERT(seconds_of(moved, curve, bytes) == curve.at({bytes}).value);
  }
}

TEST(MovedCurve, IsTheRatioOfFormsWhereThatRises) {
  const AnyForm form, half{form.latency, 2 * form.per_byte, form.change};
  AnyCurve curve;
  for (int i = 1; i <= 20; ++i) curve.log_time.push_back(std::log(1e-5 + 1e-11 * std::exp2(2 * i)));
  const MovedCurve moved = moved_by_forms(curve, form, half);
  for (const double bytes : {1e3, 1e5, 1e7, 1e9}) {
    EXPECT_NEAR(moved.factor({bytes}, curve.at({bytes})), *half.at({bytes}) / *form.at({bytes}),
                1e-2)
        << bytes;
  }
}

TEST(MovedCurve, StaysWhereNoFormKnowsTheOperation) {
  const AnyCurve curve{{std::log(1e-5), std::log(2e-5)}};
  const auto nothing = [](Bytes) { return std::optional<Seconds>(); };
  const MovedCurve moved([&](Bytes size) { return curve.at(size); }, nothing, nothing);
  EXPECT_EQ(moved.factor({1e6}, curve.at({1e6})), 1);
}

// --- Of machines -----------------------------------------------------------------------------------

/// The machine with other links on one level.
struct Relinked {
  Cluster cluster;
  std::size_t level = 0;
  Relinked with(double bandwidth, double latency) const {
    Relinked out = *this;
    if (!out.cluster.nominal) out.cluster.nominal = std::make_shared<const Cluster>(cluster);
    Level& links = out.cluster.levels[level];
    links.port_bandwidth = links.port_bandwidth * bandwidth;
    links.latency = links.latency * latency;
    return out;
  }
};

Relinked any_machine() {
  static const std::vector<std::string> lines = [] {
    std::vector<std::string> measured;
    for (const std::string& system : CollectiveFit::builtin().systems()) {
      const std::string node = node_of_system(system);
      measured.push_back(node);
      if (Catalog::builtin().cluster("2 x " + node)) measured.push_back("2 x " + node);
    }
    return measured;
  }();
  Relinked machine{*Catalog::builtin().cluster(*rc::gen::elementOf(lines))};
  machine.level = *rc::gen::inRange<std::size_t>(0, machine.cluster.levels.size());
  return machine;
}

CollectiveQuery any_collective(const Cluster& cluster) {
  CollectiveQuery query;
  query.op = static_cast<Op>(*rc::gen::inRange(0, static_cast<int>(Op::kBarrier) + 1));
  query.source = *rc::gen::element(CollectiveSource::kBest, CollectiveSource::kBest,
                                   CollectiveSource::kTable, CollectiveSource::kFitted);
  const unsigned chips = cluster.chips(), inside = cluster.chips_per_node();
  if (query.op == Op::kSendRecv) {
    query.ranks = {0, *rc::gen::element(1U, inside - 1, chips - 1)};
  } else {
    const unsigned count = *rc::gen::element(2U, 4U, inside, chips);
    for (std::uint32_t r = 0; r < std::min(count, chips); ++r) query.ranks.push_back(r);
  }
  return query;
}

/// Of all sizes that measurements tell the time of, moved or not.
std::vector<double> measured_times(const Cluster& cluster, CollectiveQuery query) {
  const Result<CollectiveModel> model = CollectiveModel::make(cluster);
  RC_ASSERT(model.ok());
  std::vector<double> times;
  for (const double bytes : many_sizes()) {
    query.size = {bytes};
    const auto answer = model->estimate(query);
    const bool formula = !answer || answer->source.starts_with("NCCL 2") ||
                         answer->source.find("nominal latencies") != std::string_view::npos;
    times.push_back(formula ? std::nan("") : answer->time.value);
  }
  return times;
}

RC_GTEST_PROP(MovedCollectivesProperty, NeverFallAsMessagesGrow, ()) {
  const Relinked machine = any_machine();
  const CollectiveQuery query = any_collective(machine.cluster);
  double before = 0;
  for (const double now :
       measured_times(machine.with(any_factor(5), any_factor(5)).cluster, query)) {
    if (std::isnan(now)) continue;
    RC_ASSERT(now >= before * (1 - kRounding));
    before = now;
  }
}

RC_GTEST_PROP(MovedCollectivesProperty, AreNeverFasterOnSlowerLinks, ()) {
  const Relinked machine = any_machine();
  const CollectiveQuery query = any_collective(machine.cluster);
  const bool from_nominal = *rc::gen::inRange(0, 4) == 0;
  const Relinked faster = from_nominal ? machine : machine.with(any_factor(4), any_factor(4));
  const Relinked slower = faster.with(std::min(1.0, any_factor(3)), std::max(1.0, any_factor(3)));
  const auto less = measured_times(faster.cluster, query),
             more = measured_times(slower.cluster, query);
  for (std::size_t i = 0; i < less.size(); ++i) {
    if (std::isnan(less[i]) || std::isnan(more[i])) continue;
    RC_ASSERT(more[i] >= less[i] * (1 - 1e-9));
  }
}

RC_GTEST_PROP(MovedCollectivesProperty, AreWhatWasMeasuredWhereNumbersAreTheSame, ()) {
  const Relinked machine = any_machine();
  const CollectiveQuery query = any_collective(machine.cluster);
  const auto now = measured_times(machine.cluster, query),
             same = measured_times(machine.with(1, 1).cluster, query);
  for (std::size_t i = 0; i < now.size(); ++i) {
    RC_ASSERT(now[i] == same[i] || (std::isnan(now[i]) && std::isnan(same[i])));
  }
}

}  // namespace
}  // namespace flopcast::network
