#include "report/serve/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"

namespace flopcast::report {
namespace {

std::string replicas_words(const ReplicaPool& pool) {
  return fmt::format("{} of {}", counted(pool.replicas, "replica"),
                     serving_layout_words(pool.deployment.layout));
}

std::string tokens_words(std::int64_t tokens) {
  return grouped(static_cast<std::uint64_t>(tokens));
}

}  // namespace

std::string brief_time(Seconds time) {
  const auto digits = [](double value, const char* unit) {
    return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit);
  };
  if (time.value >= 1) return digits(time.value, "s");
  return time.value >= 1e-3 || time.value == 0 ? digits(time.value * 1e3, "ms")
                                               : digits(time.value * 1e6, "us");
}

std::string serving_layout_words(const ServingLayout& layout) {
  std::string words;
  const auto add = [&](const char* name, unsigned degree) {
    if (degree > 1) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name, degree);
  };
  add("TP", layout.tp);
  add("DP", layout.dp);
  add("EP", layout.ep);
  add("PP", layout.pp);
  return words.empty() ? "1 chip" : words;
}

std::string fleet_words(const Fleet& fleet) {
  if (!fleet.decode) return replicas_words(fleet.pool);
  return fmt::format("{} for prompts and {} for answers", replicas_words(fleet.pool),
                     replicas_words(*fleet.decode));
}

std::string load_words(const ServeQuestion& question) {
  const ServingWorkload& load = question.workload;
  if (load.kind == ServingWorkload::Kind::kTrace) {
    const std::size_t all = load.trace.requests.size();
    const auto asked = static_cast<std::size_t>(load.count);
    std::string words =
        fmt::format("{} of {}", counted(asked > 0 ? std::min(asked, all) : all, "request"),
                    question.trace_name);
    if (load.time_scale != 1) words += fmt::format(" at {} times the rate", load.time_scale);
    return words;
  }
  const std::string who = load.kind == ServingWorkload::Kind::kClosed
                              ? counted(static_cast<std::uint64_t>(load.users), "user")
                              : fmt::format("{} requests/s", load.rate);
  return fmt::format("{}, {} tokens in and {} out", who, tokens_words(load.input),
                     tokens_words(load.output));
}

std::string serve_title(const ServeQuestion& question) {
  return fmt::format("{} on {}", question.fleet.pool.deployment.model.name, question.cluster);
}

std::string serve_line(const ServeQuestion& question) {
  const EngineSettings& settings = question.fleet.pool.deployment.settings;
  return fmt::format("{}{}, {} ({}), {}", name(settings.engine),
                     settings.version.empty() ? "" : " " + settings.version,
                     fleet_words(question.fleet), counted(question.fleet.chips(), "chip"),
                     load_words(question));
}

namespace {

constexpr std::size_t kIntervals = 240, kMostReplicas = 16;

/// Adds what a sample has of a quantity to the intervals that it lies in, by time.
class Spread {
 public:
  Spread(std::vector<double>& into, double interval) : into_(into), interval_(interval) {}

  void add(const IterationSample& sample, double value) {
    const double begin = sample.begin.seconds(), end = sample.end.seconds();
    if (!(end > begin) || value == 0) return;
    const auto last = static_cast<double>(into_.size() - 1);
    const auto first_at = static_cast<std::size_t>(std::clamp(begin / interval_, 0.0, last));
    const auto last_at = static_cast<std::size_t>(std::clamp(end / interval_, 0.0, last));
    for (std::size_t i = first_at; i <= last_at; ++i) {
      const double from = static_cast<double>(i) * interval_;
      const double inside = std::min(end, from + interval_) - std::max(begin, from);
      if (inside > 0) into_[i] += value * inside / interval_;
    }
  }

 private:
  std::vector<double>& into_;
  double interval_;
};

}  // namespace

ServeTimeline serve_timeline(const ServeAnswer& answer) {
  ServeTimeline timeline;
  double span = 0;
  for (const auto& samples : answer.run.samples) {
    for (const IterationSample& sample : samples) span = std::max(span, sample.end.seconds());
  }
  if (!(span > 0)) return timeline;
  timeline.interval_s = span / kIntervals;
  for (auto* list :
       {&timeline.decodes, &timeline.waiting, &timeline.prompt_tokens_per_s, &timeline.kv}) {
    list->assign(kIntervals, 0);
  }
  const std::size_t replicas = answer.run.samples.size();
  const std::size_t prompts = answer.question.fleet.pool.replicas;
  for (std::size_t r = 0; r < replicas; ++r) {
    // Replicas of a second pool have blocks of their own number.
    const ServePool& pool = answer.pools[r < prompts ? 0 : answer.pools.size() - 1];
    const double blocks = static_cast<double>(pool.memory.blocks) * pool.deployment.layout.dp;
    std::vector<double> own(kIntervals, 0);
    Spread decodes(timeline.decodes, timeline.interval_s),
        waiting(timeline.waiting, timeline.interval_s);
    Spread prompt(timeline.prompt_tokens_per_s, timeline.interval_s), kv(own, timeline.interval_s);
    for (const IterationSample& sample : answer.run.samples[r]) {
      const double seconds = (sample.end - sample.begin).seconds();
      decodes.add(sample, static_cast<double>(sample.decodes));
      waiting.add(sample, static_cast<double>(sample.waiting));
      prompt.add(sample, seconds > 0 ? static_cast<double>(sample.prefill_tokens) / seconds : 0);
      if (blocks > 0) kv.add(sample, static_cast<double>(sample.blocks_used) / blocks);
    }
    for (std::size_t i = 0; i < kIntervals; ++i) {
      timeline.kv[i] += own[i] / static_cast<double>(replicas);
    }
    if (r < kMostReplicas) timeline.replica_kv.push_back(std::move(own));
  }
  return timeline;
}

}  // namespace flopcast::report
