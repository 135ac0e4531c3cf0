#include "replay/transplant.h"

#include <algorithm>

#include <fmt/format.h>

namespace flopcast::replaying {
namespace {

bool inside(const StepSpan& step, Time t) { return t >= step.from && t < step.to; }

/// Pairs equal elements of two sequences in order: common prefix and suffix, then the longest
/// common subsequence of what is left.
std::vector<std::pair<std::uint32_t, std::uint32_t>> align(const std::vector<std::uint32_t>& a,
                                                           const std::vector<std::uint32_t>& b) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::uint32_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) {
    pairs.emplace_back(head, head);
    ++head;
  }
  std::uint32_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    pairs.emplace_back(a.size() - 1 - tail, b.size() - 1 - tail);
    ++tail;
  }
  const std::size_t n = a.size() - head - tail;
  const std::size_t m = b.size() - head - tail;
  constexpr std::size_t kMostCells = 64u
                                     << 20;  // steps this different have another structure anyway
  if (n == 0 || m == 0 || n * m > kMostCells) return pairs;
  std::vector<std::uint16_t> length((n + 1) * (m + 1), 0);
  const auto cell = [&](std::size_t i, std::size_t j) -> std::uint16_t& {
    return length[i * (m + 1) + j];
  };
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      cell(i, j) = a[head + i] == b[head + j] ? static_cast<std::uint16_t>(cell(i + 1, j + 1) + 1)
                                              : std::max(cell(i + 1, j), cell(i, j + 1));
    }
  }
  for (std::size_t i = 0, j = 0; i < n && j < m;) {
    if (a[head + i] == b[head + j]) {
      pairs.emplace_back(head + i++, head + j++);
    } else if (cell(i + 1, j) >= cell(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

std::vector<std::uint32_t> names_of(const RankModel& rank,
                                    const std::vector<std::uint32_t>& calls) {
  std::vector<std::uint32_t> names;
  for (const std::uint32_t c : calls) names.push_back(rank.trace->events.name[rank.calls[c].row]);
  return names;
}

bool task_inside(const RankModel& rank, const StepSpan& step, std::uint32_t t) {
  return rank.gpu[t].call != kNoIndex && inside(step, rank.calls[rank.gpu[t].call].start);
}

/// Where a thread resumes after an idle gap, or falls idle, in the mapped step: found from the next
/// mapped call, walking back to the gap before it.
std::uint32_t carry_resume(const RankModel& rank, const StepMapping& mapping, std::uint32_t thread,
                           std::uint32_t piece) {
  const auto& calls = rank.threads[thread].calls;
  auto next = std::lower_bound(
      calls.begin(), calls.end(), piece,
      [&](std::uint32_t c, std::uint32_t p) { return rank.calls[c].first_piece < p; });
  while (next != calls.end() && mapping.call[*next] == kNoIndex) ++next;
  if (next == calls.end()) return kNoIndex;
  const auto& pieces = rank.threads[thread].pieces;
  std::uint32_t at = rank.calls[mapping.call[*next]].first_piece;
  while (at > 0 && pieces[at].start - pieces[at - 1].end <= kSignificantGap) --at;
  return at;
}
std::uint32_t carry_idle(const RankModel& rank, const StepMapping& mapping, std::uint32_t thread,
                         std::uint32_t piece) {
  const auto& calls = rank.threads[thread].calls;
  auto next = std::upper_bound(
      calls.begin(), calls.end(), piece,
      [&](std::uint32_t p, std::uint32_t c) { return p < rank.calls[c].first_piece; });
  while (next != calls.begin() && mapping.call[*std::prev(next)] == kNoIndex) --next;
  if (next == calls.begin()) return kNoIndex;
  const auto& pieces = rank.threads[thread].pieces;
  std::uint32_t at = rank.calls[mapping.call[*std::prev(next)]].last_piece;
  while (at + 1 < pieces.size() && pieces[at + 1].start - pieces[at].end <= kSignificantGap) ++at;
  return at;
}

bool names_step(const StepSpan& step, const std::string& name) {
  return step.name == name || step.name == "ProfilerStep#" + name;
}

const StepSpan* find_span(const std::vector<StepSpan>& spans, const std::string& name) {
  for (const StepSpan& s : spans) {
    if (names_step(s, name)) return &s;
  }
  return nullptr;
}

/// Recomputes whether a carried wait blocks in its new place, and how long the call lasts after it.
void settle_wait(const RankModel& rank, SyncWait& wait) {
  const Call& call = rank.calls[wait.call];
  Time last = Time::min();
  for (const std::uint32_t s : wait.streams) {
    for (const std::uint32_t t : rank.streams[s].tasks) {
      const std::uint32_t c = rank.gpu[t].call;
      if (c != kNoIndex && rank.calls[c].start >= call.start) break;
      last = std::max(last, rank.gpu[t].end);
    }
  }
  for (const std::uint32_t t : wait.tasks) last = std::max(last, rank.gpu[t].end);
  wait.blocked = last > call.start;
  wait.after = last == Time::min() ? Time{} : call.end - last;
}

}  // namespace

std::vector<StepSpan> step_spans(const TraceSet& set, const RankModel& rank) {
  std::vector<StepSpan> spans;
  for (const Step& step : find_steps(set, *rank.trace)) {
    if (step.event == kNoDetail) continue;
    spans.push_back({step.name, step.start + rank.host_offset, step.end + rank.host_offset});
  }
  return spans;
}

std::vector<std::uint32_t> calls_inside(const RankModel& rank, const HostThread& thread,
                                        const StepSpan& step) {
  const auto before = [&](std::uint32_t c, Time t) { return rank.calls[c].start < t; };
  const auto first = std::lower_bound(thread.calls.begin(), thread.calls.end(), step.from, before);
  const auto last = std::lower_bound(first, thread.calls.end(), step.to, before);
  std::vector<std::uint32_t> calls;
  std::copy_if(first, last, std::back_inserter(calls), [&](std::uint32_t c) {
    return rank.calls[c].kind != CallKind::kOther || !rank.calls[c].gpu.empty();
  });
  return calls;
}

StepMapping map_step(const RankModel& rank, const StepSpan& from, const StepSpan& to) {
  StepMapping mapping;
  mapping.call.assign(rank.calls.size(), kNoIndex);
  mapping.task.assign(rank.gpu.size(), kNoIndex);
  for (const HostThread& thread : rank.threads) {
    const auto a = calls_inside(rank, thread, from);
    const auto b = calls_inside(rank, thread, to);
    mapping.calls_from += a.size();
    mapping.calls_to += b.size();
    for (const auto& [i, j] : align(names_of(rank, a), names_of(rank, b))) {
      ++mapping.matched;
      mapping.call[a[i]] = b[j];
      const auto& rows_a = rank.calls[a[i]].gpu;
      const auto& rows_b = rank.calls[b[j]].gpu;
      for (std::size_t n = 0; n < std::min(rows_a.size(), rows_b.size()); ++n) {
        mapping.task[rows_a[n]] = rows_b[n];
      }
    }
  }
  return mapping;
}

StepEdges edges_inside(const Recording& recording, std::uint32_t r, const StepSpan& step) {
  const RankModel& rank = recording.ranks[r];
  StepEdges out;
  for (const GpuEdge& e : recording.cross_stream[r].edges) {
    if (task_inside(rank, step, e.source) && task_inside(rank, step, e.target))
      out.gpu.push_back(e);
  }
  for (const SyncWait& w : recording.sync_waits[r].waits) {
    if (inside(step, rank.calls[w.call].start)) out.waits.push_back(w);
  }
  for (const ThreadEdge& e : recording.thread_edges[r]) {
    if (e.hand_over && inside(step, rank.threads[e.from_thread].pieces[e.from_piece].start) &&
        inside(step, rank.threads[e.to_thread].pieces[e.to_piece].start)) {
      out.threads.push_back(e);
    }
  }
  return out;
}

StepEdges carry_over(const RankModel& rank, const StepEdges& edges, const StepMapping& mapping) {
  StepEdges out;
  for (const GpuEdge& e : edges.gpu) {
    const GpuEdge carried{mapping.task[e.source], mapping.task[e.target], e.kind};
    if (carried.source != kNoIndex && carried.target != kNoIndex) out.gpu.push_back(carried);
  }
  for (const SyncWait& w : edges.waits) {
    SyncWait carried = w;
    carried.call = mapping.call[w.call];
    if (carried.call == kNoIndex) continue;
    carried.tasks.clear();
    for (const std::uint32_t t : w.tasks) {
      if (mapping.task[t] != kNoIndex) carried.tasks.push_back(mapping.task[t]);
    }
    settle_wait(rank, carried);
    out.waits.push_back(std::move(carried));
  }
  for (const ThreadEdge& e : edges.threads) {
    if (!e.hand_over) continue;  // flows hold in every step by themselves
    const std::uint32_t from = carry_idle(rank, mapping, e.from_thread, e.from_piece);
    const std::uint32_t to = carry_resume(rank, mapping, e.to_thread, e.to_piece);
    if (from == kNoIndex || to == kNoIndex) continue;
    // What the other step's recording contradicts is no dependency of it.
    const Time end = rank.threads[e.from_thread].pieces[from].end;
    if (end > rank.threads[e.to_thread].pieces[to].start + order_slack(*rank.trace)) continue;
    out.threads.push_back({e.from_thread, from, e.to_thread, to, true});
  }
  return out;
}

std::optional<Diagnostic> transplant(const TraceSet& set, Recording& recording,
                                     const std::string& from, const std::string& to) {
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    const std::vector<StepSpan> spans = step_spans(set, rank);
    const StepSpan* source = find_span(spans, from);
    const StepSpan* target = find_span(spans, to);
    if (!source || !target) {
      std::string known;
      for (const StepSpan& s : spans) known += (known.empty() ? "" : ", ") + s.name;
      return Diagnostic{
          ErrorCode::kUsage, rank.trace->path,
          fmt::format("no step {} on rank {}", source ? to : from, rank.rank),
          known.empty() ? "the trace has no ProfilerStep annotations" : "steps: " + known};
    }
    const StepEdges edges =
        carry_over(rank, edges_inside(recording, r, *source), map_step(rank, *source, *target));
    auto& gpu = recording.cross_stream[r].edges;
    std::erase_if(gpu, [&](const GpuEdge& e) {
      return task_inside(rank, *target, e.source) && task_inside(rank, *target, e.target);
    });
    gpu.insert(gpu.end(), edges.gpu.begin(), edges.gpu.end());
    auto& waits = recording.sync_waits[r].waits;
    std::erase_if(waits,
                  [&](const SyncWait& w) { return inside(*target, rank.calls[w.call].start); });
    waits.insert(waits.end(), edges.waits.begin(), edges.waits.end());
    std::sort(waits.begin(), waits.end(),
              [](const SyncWait& a, const SyncWait& b) { return a.call < b.call; });
    auto& threads = recording.thread_edges[r];
    std::erase_if(threads, [&](const ThreadEdge& e) {
      return e.hand_over &&
             inside(*target, rank.threads[e.from_thread].pieces[e.from_piece].start) &&
             inside(*target, rank.threads[e.to_thread].pieces[e.to_piece].start);
    });
    threads.insert(threads.end(), edges.threads.begin(), edges.threads.end());
    std::sort(threads.begin(), threads.end(), [](const ThreadEdge& a, const ThreadEdge& b) {
      return std::tie(a.to_thread, a.to_piece) < std::tie(b.to_thread, b.to_piece);
    });
  }
  return std::nullopt;
}

}  // namespace flopcast::replaying
