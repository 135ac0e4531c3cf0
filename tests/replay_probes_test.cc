// A replay that something was changed in: what got shorter makes no step longer, a shift passes
// through, and with nothing changed every row is where it was recorded.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay.h"
#include "flopcast/replay/assembly.h"
#include "flopcast/replay/parts.h"
#include "flopcast/replay/timeline.h"
#include "support/sample_run.h"
#include "support/shared_traces.h"

namespace flopcast {
namespace {

using namespace replaying;

struct ProbedSet {
  const char* name;
  const char* path;  ///< below traces/
  const char* prefix = "";
};
void PrintTo(const ProbedSet& s, std::ostream* out) { *out << s.name; }

constexpr const char* kProbedTorchrec = "torchrec_dlrm_4xv100";
const ProbedSet kProbed[] = {
    {"megatron_tp8_a100", "megatron_tp8_a100", "kineto"},
    {"nanogpt_8xh100", "nanogpt_8xh100"},
    {"dlrm_8xv100", "dlrm_8xv100_kineto_et", "kineto"},
    {"graph_decode_8xh200", "graph_decode_8xh200"},
    {"decode_kernels_8xh200", "decode_kernels_8xh200/run1"},
    {"torchrec_optimizer_2_run2", kProbedTorchrec, "sst_long_a2a_optimizer_2.run2"},
    {"torchrec_optimizer_5_run1", kProbedTorchrec, "sst_long_a2a_optimizer_5.run1"},
    {"torchrec_optimizer_5_qcomm_run1", kProbedTorchrec, "sst_long_a2a_optimizer_5_qcomm.run1"},
    {"torchrec_sleep_pl", kProbedTorchrec, "sst_sleep_pl"},
    {"resnet50_workers_0", "resnet50_1xv100/num_workers_0.json.gz"},
    {"resnet50_workers_4", "resnet50_1xv100/num_workers_4.json.gz"},
    {"h100_qwen", "single_gpu_h100_mi300/h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"},
    {"mi300_qwen", "single_gpu_h100_mi300/mi300_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"},
    {"h100_bert", "single_gpu_h100_mi300/h100_gaunernst_bert-small-uncased__1016001.json.gz"},
    {"h100_vit", "gpu_pairs_h100_mi300/h100_Falconsai_nsfw_image_detection__1016002.json.gz"},
    {"alexnet_a100", "cuda_sync_small/alexnet_a100.json.gz"},
    {"events_a100", "cuda_sync_small/event_sync_multi_stream_a100.json.gz"},
    {"gp100", "odd_real/gpu_user_annotation_gp100.json.gz"},
    {"mi210_gpu_only", "odd_real/mi210_gpu_only.json.gz"},
    {"mi250", "odd_real/mi250_rocm62.json.gz"},
    {"sampled_rank_0", "odd_real/sampled_rank0_of_128.json.gz"},
};

/// A recording that can be run with other durations.
class Probe {
 public:
  explicit Probe(const TraceSet& set)
      : set_(set), rec_(make_recording(set, 2, notes_)), parts_(set, rec_) {
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r)
      bindings_.push_back(find_bindings(rec_, r));
    lags_ = measure_lags(rec_, bindings_, LagMode::kRecorded);
    recorded_ = recorded_timeline(set, rec_, 1);
  }

  using Edit = std::function<void(Durations&)>;
  struct Outcome {
    Assembly assembly;
    Run run;
  };
  /// @param late of each rank's releases; empty: none.
  std::optional<Outcome> run(const Edit& edit, const std::vector<Time>& late = {}) const {
    Durations durations = recorded_durations(rec_);
    edit(durations);
    Outcome out{assemble(rec_, durations, lags_, bindings_, Baseline::kNone), {}};
    for (TaskId t = 0; t < out.assembly.graph.task_count() && !late.empty(); ++t) {
      Time& release = out.assembly.release[t];
      if (release > Time::min()) release += late[out.assembly.map.task_rank[t]];
    }
    const Result<Run> run = simulate(out.assembly.graph, out.assembly.release, &set_.strings);
    EXPECT_TRUE(run.ok()) << run.error().text();
    if (!run) return std::nullopt;
    out.run = *run;
    return out;
  }
  Timeline timeline(const Outcome& outcome) const {
    return replayed_timeline(rec_, recorded_, outcome.assembly, outcome.run, 1);
  }
  /// Of all ranks, in order: GPU steps, host steps.
  std::vector<Time> steps(const Outcome& outcome) const {
    const Timeline replayed = timeline(outcome);
    std::vector<Time> out;
    for (const RankModel& rank : rec_.ranks) {
      for (const StepResult& s : step_results(set_, rank, recorded_, replayed)) {
        if (s.replayed_gpu) out.push_back(*s.replayed_gpu);
        out.push_back(s.replayed_end - s.replayed_start);
      }
    }
    return out;
  }

  bool waits_for_room() const {
    for (const auto& rank : rec_.rooms) {
      for (const Room& room : rank) {
        if (room.need == Room::Need::kHeld) return true;
      }
    }
    return false;
  }
  const Recording& recording() const { return rec_; }
  const Timeline& recorded() const { return recorded_; }
  const Parts& parts() const { return parts_; }

 private:
  const TraceSet& set_;
  Replay notes_;
  Recording rec_;
  Parts parts_;
  std::vector<std::vector<Binding>> bindings_;
  Lags lags_;
  Timeline recorded_;
};

void scale(Time& time, double k) {
  if (time > Time{}) time = Time{static_cast<std::int64_t>(static_cast<double>(time.ps) * k)};
}
Probe::Edit scaled(const Parts& parts, std::uint32_t part, double k) {
  return [&parts, part, k](Durations& durations) {
    for (std::uint32_t r = 0; r < durations.ranks.size(); ++r) {
      Durations::Rank& rank = durations.ranks[r];
      for (auto* host : {&rank.piece, &rank.gap}) {
        for (auto& thread : *host) {
          for (Time& t : thread) scale(t, part == Parts::kHostPart ? k : 1);
        }
      }
      for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
        if (parts.of_gpu(r, t) != part) continue;
        scale(rank.gpu[t], k);
        scale(rank.transfer[t], k);
      }
    }
  };
}

Time sum(const std::vector<Time>& times) {
  Time total;
  for (const Time t : times) total += t;
  return total;
}

void expect_rows_where_they_were(const Probe& probe) {
  const auto same = probe.run([](Durations&) {});
  ASSERT_TRUE(same);
  const Timeline replayed = probe.timeline(*same);
  std::size_t moved = 0;
  for (const RankModel& rank : probe.recording().ranks) {
    for (const GpuTask& task : rank.gpu) {
      moved += replayed.start[rank.index][task.row] != task.start ||
               replayed.end[rank.index][task.row] != task.end;
    }
    const Assembly& a = same->assembly;
    for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
      for (std::uint32_t p = 0; p < rank.threads[t].pieces.size(); ++p) {
        const Piece& piece = rank.threads[t].pieces[p];
        moved += same->run.start[a.map.ranks[rank.index].piece_first[t][p]] != piece.start ||
                 same->run.end[a.map.ranks[rank.index].piece_last[t][p]] != piece.end;
      }
    }
  }
  EXPECT_EQ(moved, 0u);
}

/// Every rank a second later: everything is, to the picosecond.
void expect_a_shift_to_pass_through(const Probe& probe) {
  const Time second = Time::from_us(1000000);
  const auto plain = probe.run([](Durations&) {});
  const auto shifted =
      probe.run([](Durations&) {}, std::vector<Time>(probe.recording().ranks.size(), second));
  ASSERT_TRUE(plain && shifted);
  std::size_t off = 0;
  for (std::size_t t = 0; t < plain->run.start.size(); ++t) {
    off += shifted->run.start[t] != plain->run.start[t] + second ||
           shifted->run.end[t] != plain->run.end[t] + second;
  }
  EXPECT_EQ(off, 0u);
}

/// One rank a second later: nothing is earlier or later by more, and what comes before its first
/// collective is exactly that much later.
void expect_one_late_rank_to_be_late(const Probe& probe) {
  const Time second = Time::from_us(1000000);
  std::vector<Time> late(probe.recording().ranks.size());
  late[0] = second;
  const auto plain = probe.run([](Durations&) {});
  const auto shifted = probe.run([](Durations&) {}, late);
  ASSERT_TRUE(plain && shifted);
  std::size_t off = 0;
  for (std::size_t t = 0; t < plain->run.start.size(); ++t) {
    const Time by = shifted->run.end[t] - plain->run.end[t];
    off += by < Time{} || by > second;
  }
  if (!probe.waits_for_room()) {
    EXPECT_EQ(off, 0u);
  }
  const Graph& g = plain->assembly.graph;
  Time first = Time::max();  // transfer that others' lateness can have moved
  for (TaskId t = 0; t < g.task_count(); ++t) {
    if (g.kind[t] == TaskKind::kTransfer && plain->assembly.map.task_rank[t] == 0)
      first = std::min(first, plain->run.start[t]);
  }
  for (TaskId t = 0; t < g.task_count(); ++t) {
    if (plain->assembly.map.task_rank[t] != 0 || plain->run.end[t] >= first) continue;
    if (g.kind[t] == TaskKind::kRendezvous) continue;
    ASSERT_EQ(shifted->run.end[t] - plain->run.end[t], second) << task_kind_name(g.kind[t]);
  }
}

/// Nothing shorter makes a step longer, nothing longer makes it shorter.
void expect_times_to_follow(const Probe& probe) {
  const auto plain = probe.run([](Durations&) {});
  ASSERT_TRUE(plain);
  const Time before = sum(probe.steps(*plain));
  // Kernels are let into a GPU as they come: who comes a little sooner may go before one that
  // others wait for. With rooms for all, nothing shorter makes anything longer.
  const Time some = Time{before.ps / (probe.waits_for_room() ? 500 : 5000)};
  for (std::uint32_t part = 0; part < probe.parts().names().size(); ++part) {
    const auto half = probe.run(scaled(probe.parts(), part, 0.5));
    const auto twice = probe.run(scaled(probe.parts(), part, 2));
    ASSERT_TRUE(half && twice);
    EXPECT_LE(sum(probe.steps(*half)), before + some) << probe.parts().names()[part];
    EXPECT_GE(sum(probe.steps(*twice)), before - some) << probe.parts().names()[part];
  }
  const auto sooner = probe.run([](Durations& durations) {
    for (Durations::Rank& rank : durations.ranks) {
      for (auto& thread : rank.gap) {
        if (thread.size() > 1) thread[1] = std::max(Time{}, thread[1] - Time::from_us(1000000));
      }
    }
  });
  ASSERT_TRUE(sooner);
  EXPECT_LE(sum(probe.steps(*sooner)), before + some);
  EXPECT_LE(sooner->run.makespan, plain->run.makespan + some);
}

void expect_all(const TraceSet& set) {
  const Probe probe(set);
  expect_rows_where_they_were(probe);
  expect_a_shift_to_pass_through(probe);
  expect_one_late_rank_to_be_late(probe);
  expect_times_to_follow(probe);
}

TEST(ReplayProbes, OfTheSample) {
  const Result<TraceSet> set = read_traces({test::sample_run()});
  ASSERT_TRUE(set.ok()) << set.error().text();
  expect_all(*set);
}

class ReplayProbed : public testing::TestWithParam<ProbedSet> {};

TEST_P(ReplayProbed, FollowsWhatIsChanged) {
  FLOPCAST_SHARED_OR_SKIP(path, std::string("traces/") + GetParam().path);
  const Result<TraceSet> set = read_traces({path}, {}, GetParam().prefix);
  ASSERT_TRUE(set.ok()) << set.error().text();
  expect_all(*set);
}

INSTANTIATE_TEST_SUITE_P(RealTraces, ReplayProbed, testing::ValuesIn(kProbed),
                         [](const auto& param) { return std::string(param.param.name); });

// The loader's annotation covers nearly all of the host's time in a step: without it, what the
// threads hand over comes so much sooner.
TEST(ReplayProbes, WithoutDataLoadingTheThreadsHandOverSooner) {
  FLOPCAST_SHARED_OR_SKIP(path, "traces/resnet50_1xv100/num_workers_0.json.gz");
  const Result<TraceSet> set = read_traces({path});
  ASSERT_TRUE(set.ok()) << set.error().text();
  const Probe probe(*set);
  std::size_t hand_overs = 0;
  for (const ThreadEdge& e : probe.recording().thread_edges[0]) hand_overs += e.hand_over;
  EXPECT_EQ(hand_overs, 12u);

  const RankModel& rank = probe.recording().ranks[0];
  const Events& events = rank.trace->events;
  std::vector<std::uint32_t> loading;  // rows of the loader: few, and every piece asks for them
  for (std::uint32_t r = 0; r < events.size(); ++r) {
    if (events.category[r] == Category::kUserAnnotation &&
        set->strings[events.name[r]].starts_with("enumerate(DataLoader)"))
      loading.push_back(r);
  }
  ASSERT_FALSE(loading.empty());
  const auto loads = [&](std::uint32_t track, Time from, Time to) {
    Time inside;
    for (const std::uint32_t r : loading) {
      if (events.track[r] != track) continue;
      const Time start = std::max(from, events.start[r] + rank.host_offset);
      inside += std::max(Time{}, std::min(to, events.end(r) + rank.host_offset) - start);
    }
    return inside;
  };
  const auto steps = [&](const Probe::Edit& edit) {
    std::vector<double> ms;
    const auto outcome = probe.run(edit);
    const Timeline replayed = probe.timeline(*outcome);
    for (const StepResult& s : step_results(*set, rank, probe.recorded(), replayed))
      ms.push_back(s.replayed_gpu->seconds() * 1e3);
    return ms;
  };
  const std::vector<double> with = steps([](Durations&) {});
  const std::vector<double> without = steps([&](Durations& durations) {
    for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
      const HostThread& thread = rank.threads[t];
      Time end = thread.pieces.front().start;
      for (std::uint32_t p = 0; p < thread.pieces.size(); ++p) {
        const Piece& piece = thread.pieces[p];
        durations.ranks[0].gap[t][p] -= loads(thread.track, end, piece.start);
        durations.ranks[0].piece[t][p] -= loads(thread.track, piece.start, piece.end);
        end = piece.end;
      }
    }
  });
  // Of the steps after the first, which begins in the middle of what came before.
  const auto mean = [](const std::vector<double>& ms) {
    return std::accumulate(ms.begin() + 1, ms.end(), 0.0) / static_cast<double>(ms.size() - 1);
  };
  EXPECT_NEAR(mean(with), 175, 2);
  EXPECT_NEAR(mean(without), 118, 2);
}

}  // namespace
}  // namespace flopcast
