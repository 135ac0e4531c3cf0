// A made-up answer for tests: 40 ms become 25 ms by two changes.
#pragma once

#include <memory>
#include <utility>

#include "flopcast/report/whatif.h"
#include "report/replay/testing.h"

namespace flopcast::test {

inline Time ms(std::int64_t n) { return Time::from_us(n * 1000); }

inline WhatIfAnswer made_answer() {
  WhatIfAnswer a;
  a.changes.remove = {"straggler:1"};
  a.changes.scale = {{"kernel:gemm", 0.5}};
  a.ranks_before = a.ranks_after = 2;
  a.before = ms(40);
  a.after = ms(25);
  a.host_before = ms(41);
  a.host_after = ms(26);
  a.band = {ms(24), ms(27), {{"typical against recorded lags", ms(1), ms(2)}}};
  a.steps = {{"ProfilerStep#1", ms(40), ms(25), ms(41), ms(26)},
             {"ProfilerStep#2", ms(42), ms(26), ms(43), ms(27)}};
  a.causes = {{"remove straggler:1", -ms(6), -ms(4)}, {"scale kernel:gemm=0.5", -ms(9), {}}};
  a.parts = {{"gemm", ms(22), ms(10)},
             {"transfer", ms(10), ms(8)},
             {"waiting", ms(4), ms(3)},
             {"idle", ms(4), ms(4)}};
  a.notes = {{"kernels of rank 1 (median of its equals)", "modelled", 120, 0.25},
             {"all other durations", "copied", 400, 0.75}};
  a.totals_before.tokens_per_s = 100000;
  a.totals.tokens_per_s = 123456;
  a.totals.mfu = 0.415;
  a.totals.basis = "tokens as told";
  a.totals.missing = {{"memory_bytes", "a recording does not tell its model"}};
  return a;
}

inline WhatIfAnswer refused_answer() {
  WhatIfAnswer a;
  a.changes.set = {{"layers", "8"}};
  a.ranks_before = a.ranks_after = 2;
  a.refused = {{"set layers=8", "no layers were found: record with module rows"}};
  return a;
}

inline WhatIfReport made_report() {
  WhatIfReport report;
  report.recording = "made";
  report.answer = made_answer();
  report.sensitivity = {{"kernel:gemm", ms(60), ms(38), ms(18), ""},
                        {"network", ms(10), ms(39), ms(31), ""},
                        {"host", ms(3), {}, {}, ""}};
  return report;
}

/// The rows of made_set twice: as they were, and 5 us later.
inline std::pair<WhatIfRun, WhatIfRun> made_runs() {
  const auto set = std::make_shared<const TraceSet>(made_set());
  Replay before = made_replay(*set), after = before;
  for (std::size_t t = 0; t < set->traces.size(); ++t) {
    for (Time& start : after.replayed.start[t]) start += Time::from_us(5);
    for (Time& end : after.replayed.end[t]) end += Time::from_us(5);
  }
  return {{set, std::move(before)}, {set, std::move(after)}};
}

}  // namespace flopcast::test
