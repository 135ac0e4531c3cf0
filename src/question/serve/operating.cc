// What the replicas of a pool do on average, and an iteration of that.
#include <algorithm>
#include <cmath>

#include "base/numeric/rounded.h"
#include "question/serve/answer.h"

namespace flopcast::question {
namespace {

/// Sums over samples of some replicas; times in seconds.
struct BusySums {
  double busy = 0, with_prompts = 0;
  double decodes = 0, waiting = 0, blocks = 0;  // times seconds
  double prompt_tokens = 0, prompt_iterations = 0;
  std::int64_t iterations = 0, peak_blocks = 0;

  void add(const IterationSample& sample) {
    const double seconds = (sample.end - sample.begin).seconds();
    busy += seconds;
    decodes += seconds * static_cast<double>(sample.decodes);
    waiting += seconds * static_cast<double>(sample.waiting);
    blocks += seconds * static_cast<double>(sample.blocks_used);
    iterations += sample.iterations;
    peak_blocks = std::max(peak_blocks, sample.blocks_used);
    if (sample.prefill_tokens == 0) return;
    with_prompts += seconds;
    prompt_tokens += static_cast<double>(sample.prefill_tokens);
    prompt_iterations += 1;
  }
};

/// Lengths of what was answered, as an operating point needs them.
struct MeanLengths {
  double input = 0, context = 0;  ///< of a prompt; that a token of an answer sees
};

MeanLengths mean_lengths(const FleetRun& run) {
  double requests = 0, input = 0, tokens = 0, seen = 0;
  for (const RequestOutcome& request : run.requests) {
    if (request.done == Time::max()) continue;
    const double in = static_cast<double>(request.input), out = static_cast<double>(request.output);
    requests += 1;
    input += in;
    tokens += out;
    seen += out * (in + out / 2);
  }
  if (requests == 0 || tokens == 0) return {};
  return {input / requests, seen / tokens};
}

std::int64_t whole_of(double value) { return rounded_whole(std::max(0.0, value)); }

/// The mean batch of one attention rank.
RankLoad mean_load(const ServePool& pool, const IterationModel& model, unsigned ranks) {
  RankLoad load;
  load.decodes = whole_of(pool.decodes / ranks);
  if (load.decodes == 0 && pool.decodes >= 0.5) load.decodes = 1;
  load.context = whole_of(static_cast<double>(load.decodes) * pool.context);
  const std::int64_t cap = model.context_cap();
  if (cap == 0) return load;
  const bool below = pool.context < static_cast<double>(cap);
  load.capped_context = below ? load.context : load.decodes * cap;
  load.uncapped = below ? load.decodes : 0;
  return load;
}

/// The same with the prompts of the mean iteration that has some: whole ones, or a piece out of the middle of one.
RankLoad with_prompts(RankLoad load, const ServePool& pool, double input, unsigned ranks) {
  const double tokens = pool.prefill_tokens / ranks;
  if (!(tokens >= 1) || !(input >= 1)) return load;
  const double each = std::min(tokens, input), before = std::max(0.0, (input - each) / 2);
  const double prompts = std::max(1.0, std::round(tokens / each));
  load.prefills = whole_of(prompts);
  load.prefill_tokens = whole_of(tokens);
  load.prefill_pairs = whole_of(tokens * (2 * before + tokens / prompts + 1));
  load.prefill_context = whole_of(prompts * before);
  load.sampled = each < input ? 0 : load.prefills;
  return load;
}

/// The iteration's parts; those of the host are bound by it.
std::vector<IterationPart> parts_of(const IterationModel& model,
                                    const std::vector<RankLoad>& loads) {
  std::vector<IterationPart> parts = model.parts(loads);
  for (IterationPart& part : parts) {
    if (part.name == "host" || part.name == "launches") part.bound = "host";
  }
  return parts;
}

void price_operating_point(ServePool& pool, const IterationModel& model, double input) {
  const unsigned ranks = pool.deployment.layout.dp;
  const std::vector<RankLoad> plain(ranks, mean_load(pool, model, ranks));
  const std::vector<RankLoad> mixed(ranks, with_prompts(plain.front(), pool, input, ranks));
  if (plain.front().decodes > 0) {
    pool.iteration = model.time(plain);
    pool.parts = parts_of(model, plain);
  }
  if (mixed.front().prefill_tokens > 0) {
    pool.prompt_iteration = model.time(mixed);
    pool.prompt_parts = parts_of(model, mixed);
  }
}

/// Replicas `first` to `last` of the run.
ServePool pool_at_work(const PreparedFleet& fleet, const FleetRun& run, bool decode,
                       std::size_t first, std::size_t last) {
  const Fleet& asked = fleet.fleet();
  const ReplicaPool& of = decode ? *asked.decode : asked.pool;
  ServePool pool;
  pool.role = !asked.decode ? "replica" : decode ? "decode" : "prefill";
  pool.deployment = of.deployment;
  pool.replicas = of.replicas;
  pool.memory = fleet.memory(decode);
  BusySums sums;
  double span = 0;
  for (std::size_t r = first; r < std::min(last, run.samples.size()); ++r) {
    for (const IterationSample& sample : run.samples[r]) {
      sums.add(sample);
      span = std::max(span, sample.end.seconds());
    }
  }
  const double blocks =
      static_cast<double>(pool.memory.blocks) * static_cast<double>(of.deployment.layout.dp);
  pool.iterations = sums.iterations;
  if (sums.busy > 0) {
    pool.decodes = sums.decodes / sums.busy;
    pool.waiting = sums.waiting / sums.busy;
    pool.prefill_share = sums.with_prompts / sums.busy;
    if (blocks > 0) pool.kv_mean = sums.blocks / sums.busy / blocks;
    if (span > 0) pool.busy = sums.busy / (span * static_cast<double>(last - first));
  }
  if (blocks > 0) pool.kv_peak = static_cast<double>(sums.peak_blocks) / blocks;
  if (sums.prompt_iterations > 0) pool.prefill_tokens = sums.prompt_tokens / sums.prompt_iterations;
  const MeanLengths lengths = mean_lengths(run);
  pool.context = lengths.context;
  const IterationModel& model = fleet.model(decode);
  price_operating_point(pool, model, lengths.input);
  pool.basis = model.basis();
  pool.source = model.source();
  return pool;
}

}  // namespace

std::vector<ServePool> serve_pools(const PreparedFleet& fleet, const FleetRun& run) {
  const Fleet& asked = fleet.fleet();
  const std::size_t first = asked.pool.replicas;
  std::vector<ServePool> pools = {pool_at_work(fleet, run, false, 0, first)};
  if (asked.decode) {
    pools.push_back(pool_at_work(fleet, run, true, first, first + asked.decode->replicas));
  }
  return pools;
}

std::vector<ServeWindow> serve_windows(const FleetRun& run) {
  constexpr std::uint64_t kRequests = 20, kMostWindows = 60;
  const Time span = run.end - run.begin;
  const std::uint64_t counted = run.answered + run.lost + run.unanswered;
  if (span.ps <= 0 || counted == 0) return {};
  const auto n =
      static_cast<std::int64_t>(std::clamp<std::uint64_t>(counted / kRequests, 1, kMostWindows));
  const auto at = [&](std::int64_t i) { return run.begin + Time{span.ps / n * i}; };
  std::vector<ServeWindow> windows(static_cast<std::size_t>(n));
  std::vector<std::vector<Time>> ttft(windows.size()), tpot(windows.size());
  const auto window_of = [&](Time time) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(
        (time - run.begin).ps / std::max<std::int64_t>(span.ps / n, 1), 0, n - 1));
  };
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted) continue;
    const std::size_t sent = window_of(request.sent);
    ++windows[sent].sent;
    if (request.done == Time::max()) continue;
    ttft[sent].push_back(request.ttft());
    if (request.output > 1) tpot[sent].push_back(request.tpot());
    windows[window_of(request.done)].output_tokens_per_s += static_cast<double>(request.output);
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    ServeWindow& window = windows[i];
    window.from = at(static_cast<std::int64_t>(i));
    window.to = i + 1 == windows.size() ? run.end : at(static_cast<std::int64_t>(i) + 1);
    window.ttft = percentiles_of(ttft[i]);
    window.tpot = percentiles_of(tpot[i]);
    window.output_tokens_per_s /= (window.to - window.from).seconds();
  }
  return windows;
}

}  // namespace flopcast::question
