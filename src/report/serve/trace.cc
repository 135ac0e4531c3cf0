// A run as a trace: a process a replica with its iterations, then its requests on as many lines as ran at once.
#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "flopcast/report/serve.h"

namespace flopcast {
namespace {

struct TraceRow {
  Time start, duration;
  std::uint32_t name = 0, track = 0;
};

constexpr std::uint32_t kIterationTrack = 0;

/// Rows of one replica, and the lines that its requests are on.
class ReplicaWriter {
 public:
  ReplicaWriter(TraceSet& set, std::size_t replica, std::size_t replicas, const std::string& role)
      : set_(set) {
    trace_.path = fmt::format("replica{}", replica);
    trace_.rank = static_cast<std::int32_t>(replica);
    trace_.world_size = static_cast<std::int32_t>(replicas);
    trace_.clock_step = Time{1};
    trace_.devices.push_back({0, "forecast", 0, 0});
    process_ = set_.strings.intern(fmt::format("{} {}", role, replica));
    add_track("0", "iterations");
  }

  void iteration(const IterationSample& sample) {
    std::string words;
    if (sample.prefill_tokens > 0) words = fmt::format("{} prompt tokens", sample.prefill_tokens);
    if (sample.decodes > 0 || words.empty()) {
      words += fmt::format("{}{} answers", words.empty() ? "" : ", ", sample.decodes);
    }
    if (sample.iterations > 1) words += fmt::format(", {} times", sample.iterations);
    add(sample.begin, sample.end, words, kIterationTrack);
  }

  /// In order of `sent`.
  void request(std::size_t id, const RequestOutcome& r) {
    const Time end = r.done;
    const std::uint32_t track = free_track(r.sent, end);
    add(r.sent, end, fmt::format("request {}: {} in, {} out", id, r.input, r.output), track);
    if (r.scheduled > r.sent) add(r.sent, r.scheduled, "waits", track);
    if (r.first_token > r.scheduled) add(r.scheduled, r.first_token, "prompt", track);
    if (end > r.first_token) add(r.first_token, end, "answer", track);
  }

  Trace take() && {
    std::ranges::stable_sort(rows_, [](const TraceRow& a, const TraceRow& b) {
      return a.start != b.start ? a.start < b.start : a.duration > b.duration;
    });
    for (const TraceRow& row : rows_) append(row);
    trace_.window_end = last_;
    return std::move(trace_);
  }

 private:
  void add_track(const std::string& tid, const std::string& title) {
    trace_.tracks.push_back(
        {set_.strings.intern("0"), set_.strings.intern(tid), process_, set_.strings.intern(title)});
  }

  void add(Time begin, Time end, const std::string& words, std::uint32_t track) {
    rows_.push_back({begin, end - begin, set_.strings.intern(words), track});
    last_ = std::max(last_, end);
  }

  /// A line that is free from `begin`; the one that is free longest, so that the same lines are used again.
  std::uint32_t free_track(Time begin, Time end) {
    if (!free_.empty() && free_.top().first <= begin) {
      const std::uint32_t track = free_.top().second;
      free_.pop();
      free_.emplace(end, track);
      return track;
    }
    const auto track = static_cast<std::uint32_t>(trace_.tracks.size());
    add_track(std::to_string(track), fmt::format("requests {}", track));
    free_.emplace(end, track);
    return track;
  }

  void append(const TraceRow& row) {
    const bool iteration = row.track == kIterationTrack;
    const Category category = iteration ? Category::kKernel : Category::kUserAnnotation;
    Events& events = trace_.events;
    events.start.push_back(row.start);
    events.duration.push_back(row.duration);
    events.name.push_back(row.name);
    events.track.push_back(row.track);
    events.category.push_back(category);
    events.stream.push_back(iteration ? 0 : kNoStream);
    events.device.push_back(iteration ? 0 : -1);
    events.correlation.push_back(kNoId);
    events.external_id.push_back(kNoId);
    events.detail.push_back(kNoDetail);
    events.collective.push_back(kNoDetail);
    ++trace_.row_counts[static_cast<int>(category)];
  }

  using Freed = std::pair<Time, std::uint32_t>;
  TraceSet& set_;
  Trace trace_;
  std::uint32_t process_ = 0;
  Time last_;
  std::vector<TraceRow> rows_;
  std::priority_queue<Freed, std::vector<Freed>, std::greater<>> free_;
};

/// Numbers of requests that were answered, by when they were sent.
std::vector<std::size_t> answered_in_order(const FleetRun& run) {
  std::vector<std::size_t> order;
  for (std::size_t id = 0; id < run.requests.size(); ++id) {
    if (run.requests[id].done != Time::max()) order.push_back(id);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return run.requests[a].sent < run.requests[b].sent;
  });
  return order;
}

}  // namespace

TraceSet serve_trace(const ServeAnswer& answer) {
  TraceSet set;
  set.label = "serve";
  const std::size_t prompts = answer.question.fleet.pool.replicas;
  std::vector<ReplicaWriter> writers;
  const FleetRun& run = answer.run;
  for (std::size_t r = 0; r < run.samples.size(); ++r) {
    const std::string role = answer.pools.size() < 2 ? "replica"
                             : r < prompts           ? "prompts, replica"
                                                     : "answers, replica";
    writers.emplace_back(set, r, run.samples.size(), role);
    for (const IterationSample& sample : run.samples[r]) writers.back().iteration(sample);
  }
  for (const std::size_t id : answered_in_order(run)) {
    const RequestOutcome& request = run.requests[id];
    if (request.replica < writers.size()) writers[request.replica].request(id, request);
  }
  for (ReplicaWriter& writer : writers) set.traces.push_back(std::move(writer).take());
  return set;
}

}  // namespace flopcast
