#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "catalog_files.h"
#include "flopcast/network/fit.h"
#include "network/fit/curve.h"
#include "network/fit/fit.h"
#include "network/fit/kriging.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"

namespace flopcast::network {
namespace {

using Op = CollectiveOp;

/// A system whose times follow a ring's closed form exactly: 10 us, 2 us a step, 40 GB/s.
double ring_seconds(Op op, unsigned ranks, double bytes) {
  const double passes = op == Op::kAllReduce ? 2 : 1;
  return 10e-6 + passes * (ranks - 1) * 2e-6 + bus_bandwidth_factor(op, ranks) * bytes / 40e9;
}

std::vector<CollectiveSample> ring_samples(const std::vector<unsigned>& ranks, double scatter = 0) {
  std::vector<CollectiveSample> samples;
  std::mt19937 random(7);
  for (const Op op : {Op::kAllReduce, Op::kAllGather}) {
    for (const unsigned p : ranks) {
      for (int power = 9; power <= 29; ++power) {
        CollectiveSample sample;
        sample.what = {"box", "NCCL", "2.27.3", "half", op, p, 1};
        sample.size = {std::exp2(power)};
        const double noise = static_cast<double>(random() % 2001) / 1000 - 1;
        sample.time = {ring_seconds(op, p, sample.size.value) * std::exp(scatter * noise)};
        sample.chip = "box";
        sample.source = "made up";
        samples.push_back(sample);
      }
    }
  }
  return samples;
}

CollectiveCase box(Op op, unsigned ranks) { return {"box", "NCCL", "", "", op, ranks, 1}; }

TEST(Calibrate, CurvesTakeTheMedianNeverFallAndKeepTwentyOneKnots) {
  const LogCurve falling =
      fit_curve({{1024, 10e-6}, {2048, 30e-6}, {2048, 8e-6}, {2048, 7e-6}, {4096, 12e-6}});
  ASSERT_EQ(falling.log_time.size(), 3U);
  // 10 and the median of 30, 8, 7 pool to their geometric mean.
  EXPECT_NEAR(std::exp(falling.log_time[0]) * 1e6, std::sqrt(80.0), 0.01);
  EXPECT_NEAR(std::exp(falling.log_time[1]) * 1e6, std::sqrt(80.0), 0.01);

  std::vector<std::pair<double, double>> many;
  for (int i = 1; i <= 993; ++i)
    many.emplace_back(65536.0 * i, ring_seconds(Op::kAllReduce, 4, 65536.0 * i));
  const LogCurve regressed = fit_curve(many);
  EXPECT_LE(regressed.log2_size.size(), LogCurve::kMostKnots);
  for (const auto& [bytes, seconds] : many) {
    EXPECT_NEAR(regressed.at(std::log2(bytes)), std::log(seconds), 0.03) << bytes;
  }
}

TEST(Calibrate, ThreeTermsRecoverWhatMadeTheCurve) {
  std::vector<std::pair<double, double>> points;
  for (int power = 9; power <= 29; ++power) {
    const double s = std::exp2(power);
    points.emplace_back(s, 5e-6 + s / 100e9 + 2e-9 * std::sqrt(s));
  }
  const ThreeTerms terms = fit_three_terms(fit_curve(points));
  EXPECT_NEAR(terms.latency, 5e-6, 0.01e-6);
  EXPECT_NEAR(terms.per_byte * 100e9, 1, 0.01);
  EXPECT_NEAR(terms.per_root, 2e-9, 0.1e-9);
}

TEST(Calibrate, AMeasuredCaseAnswersFromItsTable) {
  const CollectiveFit fit = CollectiveFit::make(ring_samples({2, 4, 8}));
  for (const CollectiveSource source : {CollectiveSource::kBest, CollectiveSource::kTable}) {
    const auto curve = fit.curve(box(Op::kAllReduce, 4), source);
    ASSERT_TRUE(curve);
    EXPECT_EQ(curve->basis(), Basis::kTable);
    for (const double bytes : {512.0, 3e4, 1e6, 77e6, 5e8}) {
      const CollectiveFit::Answer answer = curve->at({bytes});
      EXPECT_NEAR(answer.time.value / ring_seconds(Op::kAllReduce, 4, bytes), 1, 0.03) << bytes;
      EXPECT_LE(answer.low, answer.time);
      EXPECT_GE(answer.high, answer.time);
      EXPECT_NE(answer.source.find("table box all_reduce, 4 ranks"), std::string::npos);
    }
  }
}

TEST(Calibrate, ARankCountThatWasNotMeasuredIsFitted) {
  const CollectiveFit fit = CollectiveFit::make(ring_samples({2, 4, 16}));
  const auto curve = fit.curve(box(Op::kAllReduce, 8));
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->basis(), Basis::kFitted);
  for (const double bytes : {1e3, 1e6, 1e9, 1e11}) {
    EXPECT_NEAR(curve->time({bytes}).value / ring_seconds(Op::kAllReduce, 8, bytes), 1, 0.03);
  }
  EXPECT_FALSE(fit.curve(box(Op::kAllReduce, 8), CollectiveSource::kTable));
}

TEST(Calibrate, TimesNeverFallWithSize) {
  const CollectiveFit fit = CollectiveFit::make(ring_samples({2, 4, 8}, 0.5));
  for (const unsigned ranks : {2U, 3U, 8U, 64U}) {
    for (const CollectiveSource source :
         {CollectiveSource::kBest, CollectiveSource::kTable, CollectiveSource::kFitted}) {
      const auto curve = fit.curve(box(Op::kAllGather, ranks), source);
      if (!curve) continue;
      double before = 0;
      for (double bytes = 1; bytes < 1e13; bytes *= 1.3) {
        const double now = curve->time({bytes}).value;
        EXPECT_GE(now, before * (1 - 1e-12)) << ranks << " ranks, " << bytes;
        before = now;
      }
    }
  }
}

TEST(Calibrate, TheOrderOfRowsDoesNotMatter) {
  std::vector<CollectiveSample> samples = ring_samples({2, 4, 8}, 0.2);
  const std::string first = CollectiveFit::make(samples).toml();
  std::mt19937 random(1);
  for (std::size_t i = samples.size() - 1; i > 0; --i) std::swap(samples[i], samples[random() % i]);
  EXPECT_EQ(CollectiveFit::make(samples).toml(), first);
}

TEST(Calibrate, WhatIsWrittenIsReadAgain) {
  const CollectiveFit made = CollectiveFit::make(ring_samples({2, 4, 8}, 0.2));
  const Result<CollectiveFit> read = CollectiveFit::parse(made.toml(), "fit.toml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->toml(), made.toml());
  const auto a = made.curve(box(Op::kAllGather, 16)), b = read->curve(box(Op::kAllGather, 16));
  ASSERT_TRUE(a && b);
  for (const double bytes : {100.0, 1e6, 1e10}) {
    EXPECT_EQ(a->time({bytes}).value, b->time({bytes}).value);
    EXPECT_EQ(a->at({bytes}).high.value, b->at({bytes}).high.value);
  }
}

TEST(Calibrate, FaultyFitsAreRefusedWithTheLine) {
  const auto fault = [](const std::string& text) {
    const Result<CollectiveFit> fit = CollectiveFit::parse(text, "fit.toml");
    return fit ? std::string() : fit.error().text();
  };
  EXPECT_NE(fault("system = 3").find("fit.toml:1"), std::string::npos);
  EXPECT_NE(fault("[system.a]\n[").find("fit.toml:2"), std::string::npos);
  std::string text = CollectiveFit::make(ring_samples({2, 4})).toml();
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string copy = text;
    copy.replace(copy.find(from), from.size(), to);
    return fault(copy);
  };
  EXPECT_NE(broken("coefficients = [", "coefficients = [-1, ").find("9 coefficients"),
            std::string::npos);
  EXPECT_NE(broken("ranks = 2", "ranks = 0").find("ranks >= 2"), std::string::npos);
  EXPECT_NE(broken("us = [", "us = [1e9, ").find("must not fall"), std::string::npos);
  EXPECT_NE(broken("bands.version = [", "bands.version = [[0, 0], ").find("4 pairs"),
            std::string::npos);
}

TEST(Calibrate, CsvRowsThatCannotBeUsedAreCounted) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file =
      folder.write("rows.csv",
                   "gpu,system,op,impl,dtype,gpus,nodes,bytes,time_us\n"
                   "x,y,all_reduce,NCCL nccl/2.29.2,half,4,1,1024,10\n"
                   "x,y,alltoall,NCCL nccl/2.29.2,half,4,1,1024,10\n"
                   "x,y,gossip,NCCL,half,4,1,1024,10\n"
                   "x,y,all_reduce,NCCL,half,1,1,1024,10\n"
                   "x,y,all_reduce,NCCL,half,4,1,0,10\n"
                   "x,y,all_reduce,NCCL,half,4,1,many,10\n");
  Anomalies anomalies;
  const auto samples = read_collective_samples(file, anomalies);
  ASSERT_TRUE(samples) << samples.error().text();
  ASSERT_EQ(samples->size(), 2U);
  EXPECT_EQ((*samples)[0].what.system, "x_y");
  EXPECT_EQ((*samples)[0].what.library, "NCCL");
  EXPECT_EQ((*samples)[0].what.version, "2.29.2");
  EXPECT_EQ((*samples)[1].what.op, Op::kAllToAll);
  EXPECT_DOUBLE_EQ((*samples)[1].time.value, 10e-6);
  for (const char* kind :
       {"unknown_collective", "impossible_ranks", "not_positive", "not_a_number"}) {
    EXPECT_EQ(anomalies.count(kind), 1U) << kind;
  }
}

TEST(Calibrate, RowsThatPublishersCopiedAreLeftOut) {
  const test::TemporaryFolder folder;
  const std::string rest = ",torch.distributed NCCL,bf16/fp16,2,1,";
  const std::string pair = "_pairwise_nvlink,",
                    head = "gpu,system,op,impl,dtype,gpus,nodes,bytes,time_us\n";
  const auto row = [&](const std::string& chip, const std::string& op, const char* numbers) {
    return chip + "," + chip + pair + op + rest + numbers + "\n";
  };
  const std::string own = row("h100", "send_recv", "2048,3") + row("h100", "all_reduce", "1024,4");
  const auto file = folder.write("copied.csv", head + row("a100", "send_recv", "1024,4") +
                                                   row("h100", "send_recv", "1024,4") +
                                                   row("a100", "all_reduce", "1024,4") + own);
  Anomalies anomalies;
  const auto samples = read_collective_samples(file, anomalies);
  ASSERT_TRUE(samples) << samples.error().text();
  EXPECT_EQ(samples->size(), 4U);
  EXPECT_EQ(anomalies.count("copied_from_another_system"), 1U);
  // What somebody measured stays, and so does a row that nothing shows to be a copy.
  Anomalies none;
  const auto alone = read_collective_samples(
      folder.write("alone.csv", head + row("h100", "send_recv", "1024,4") + own), none);
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_EQ(alone->size(), 3U);
  EXPECT_TRUE(none.empty());
}

TEST(Calibrate, NoTwoSystemsOfTheCatalogueHaveTheSameCurve) {
  CollectiveFit::State state;
  ASSERT_FALSE(read_fit(catalog_data::collectives_public_toml(), "public.toml", state));
  using Curve = std::tuple<CollectiveOp, unsigned, unsigned, std::vector<double>>;
  std::map<Curve, std::string> systems;
  for (const auto& [name, system] : state.systems) {
    for (const MeasuredCurve& curve : system.curves) {
      const CollectiveCase& what = curve.what;
      const auto [same, fresh] =
          systems.try_emplace({what.op, what.ranks, what.nodes, curve.curve.log_time}, name);
      EXPECT_TRUE(fresh || same->second == name)
          << flopcast::name(what.op) << " of " << name << " is that of " << same->second
          << ": say so in catalog/collectives/systems.toml (copied)";
    }
  }
}

TEST(Calibrate, TheCataloguesFitsAreReadableAndItsSystemsKnown) {
  const CollectiveFit& fit = CollectiveFit::builtin();
  EXPECT_GT(fit.curves(), 500U);
  for (const std::string& system : fit.systems()) {
    EXPECT_TRUE(fit.measured(system, Op::kAllReduce, false) ||
                fit.measured(system, Op::kSendRecv, false))
        << system;
  }
  EXPECT_TRUE(fit.measured("perlmutter", Op::kAllGather, true));
  EXPECT_FALSE(fit.measured("h200_sxm", Op::kAllGather, true));
  EXPECT_EQ(fit.newest("h100_sxm", "NCCL"), "2.29.2");
  EXPECT_TRUE(CollectiveFit::parse(fit.toml(), "again"));
}

}  // namespace
}  // namespace flopcast::network
