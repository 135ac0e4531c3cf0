// Why a deployment cannot run, memory left out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "flopcast/serving.h"

namespace flopcast {
namespace {

using Problems = std::vector<Diagnostic>;

void refuse_deployment(Problems& problems, std::string_view where, std::string what,
                       std::string hint) {
  problems.push_back(usage_error(where, std::move(what), std::move(hint)));
}

/// "1, 2, 4, 8": values up to `most` that divide n.
std::string divisors_text(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 1; i <= std::min(n, most); ++i) {
    if (n % i == 0) out.push_back(i);
  }
  return fmt::format("values that work: {}", fmt::join(out, ", "));
}

void check_heads(const Deployment& d, Problems& problems) {
  constexpr std::int64_t kMostListed = 64;
  const std::int64_t tp = d.layout.tp;
  for (const Layer& layer : d.model.kinds) {
    const AttentionShape& a = layer.attention;
    if (a.heads > 0 && a.heads % tp != 0) {
      refuse_deployment(problems, "tp", fmt::format("{} does not divide {} heads", tp, a.heads),
                        divisors_text(a.heads, kMostListed));
      return;
    }
    if (a.heads > 0 && !a.latent() && a.kv_heads % tp != 0 && tp % a.kv_heads != 0) {
      refuse_deployment(
          problems, "tp",
          fmt::format("{} neither divides {} heads of keys nor is a multiple", tp, a.kv_heads),
          divisors_text(a.kv_heads, kMostListed));
      return;
    }
    if (layer.recurrence.heads > 0 && layer.recurrence.heads % tp != 0) {
      refuse_deployment(
          problems, "tp",
          fmt::format("{} does not divide {} heads with states", tp, layer.recurrence.heads),
          divisors_text(layer.recurrence.heads, kMostListed));
      return;
    }
  }
}

void check_experts(const Deployment& d, Problems& problems) {
  constexpr std::int64_t kMostListed = 256;
  const ServingLayout& l = d.layout;
  std::int64_t experts = 0;
  for (const Layer& layer : d.model.kinds) experts = std::max(experts, layer.experts.count);
  if (experts == 0) {
    if (l.ep > 1) {
      refuse_deployment(problems, "ep", fmt::format("{} has no experts", d.model.name), "ep = 1");
    }
    return;
  }
  if (l.ep < 1 || (l.tp * l.dp) % l.ep != 0) {
    refuse_deployment(problems, "ep",
                      fmt::format("{} does not divide the {} chips of a stage", l.ep, l.tp * l.dp),
                      divisors_text(l.tp * l.dp, kMostListed));
  } else if (experts % l.ep != 0) {
    refuse_deployment(problems, "ep", fmt::format("{} does not divide {} experts", l.ep, experts),
                      divisors_text(experts, kMostListed));
  }
}

void check_layout(const Deployment& d, Problems& problems) {
  const ServingLayout& l = d.layout;
  if (l.tp < 1 || l.dp < 1 || l.ep < 1 || l.pp < 1) {
    refuse_deployment(problems, "layout", "degrees of parallelism are at least 1", "tp = 1");
    return;
  }
  const unsigned chips = d.cluster.chips();
  if (l.chips() > chips) {
    refuse_deployment(problems, "layout",
                      fmt::format("needs {} chips (tp {} x dp {} x pp {}), {} has {}", l.chips(),
                                  l.tp, l.dp, l.pp, d.cluster.name, chips),
                      "fewer ways, or a larger cluster");
  }
  if (l.pp > static_cast<std::uint64_t>(d.model.layers())) {
    refuse_deployment(problems, "pp", fmt::format("{} stages of {} layers", l.pp, d.model.layers()),
                      fmt::format("at most {}", d.model.layers()));
  }
  if (auto problem = price_problem(d.model)) problems.push_back(*std::move(problem));
  check_heads(d, problems);
  check_experts(d, problems);
}

/// What the chip must multiply in for these operands; nothing where it converts weights on the way.
std::optional<DataType> needed_type(GemmType type) {
  switch (type) {
    case GemmType::kFp8:
    case GemmType::kFp8Static:
    case GemmType::kFp8Block:
    case GemmType::kMxfp4Mxfp8:
      return DataType::kFp8;
    case GemmType::kNvfp4:
      return DataType::kFp4;
    case GemmType::kSmoothQuant:
      return DataType::kInt8;
    default:
      return std::nullopt;
  }
}

void check_types(const Deployment& d, Problems& problems) {
  const ServingPrecision& p = d.precision;
  for (const GemmType type : {p.attention, p.dense, p.experts}) {
    const auto needed = needed_type(type);
    if (!needed || d.cluster.chip.matrix_rate(*needed).value > 0) continue;
    refuse_deployment(problems, "precision",
                      fmt::format("{} does not multiply in {}, which {} needs", d.cluster.chip.name,
                                  name(*needed), name(type)),
                      d.cluster.chip.matrix_rate(DataType::kFp8).value > 0 ? "bf16, fp8 or int4"
                                                                           : "bf16 or int4");
    return;
  }
}

void check_settings(const Deployment& d, Problems& problems) {
  const EngineSettings& s = d.settings;
  if (s.batch_tokens < 1 || s.max_requests < 1 || s.block < 1 || s.kv_tokens < 0) {
    refuse_deployment(problems, "settings",
                      "tokens of an iteration, requests and tokens of a block are at least 1",
                      "engine_defaults() has values");
  }
  if (!(s.memory_share > 0 && s.memory_share <= 1)) {
    refuse_deployment(problems, "memory_share",
                      fmt::format("{} is no share of a chip's memory", s.memory_share),
                      "between 0 and 1");
  }
  if (!std::is_sorted(s.graphs.begin(), s.graphs.end()) ||
      (!s.graphs.empty() && s.graphs.front() < 1)) {
    refuse_deployment(problems, "graphs", "sizes of captured batches rise from 1 on", "1, 2, 4, 8");
  }
  const Speculation& spec = s.speculation;
  if (spec.kind == Speculation::Kind::kNone) return;
  if (spec.drafts < 1 || !(spec.accepted >= 1 && spec.accepted <= spec.drafts + 1.0)) {
    refuse_deployment(
        problems, "speculation",
        fmt::format("{} drafts cannot bring {} tokens a step", spec.drafts, spec.accepted),
        fmt::format("between 1 and {}", spec.drafts + 1));
  }
}

}  // namespace

std::vector<Diagnostic> deployment_problems(const Deployment& deployment) {
  Problems problems;
  if (deployment.model.order.empty() || deployment.model.output != Output::kTokens) {
    refuse_deployment(problems, deployment.model.name, "does not generate tokens",
                      "a decoder with a head over its vocabulary");
    return problems;
  }
  check_layout(deployment, problems);
  check_types(deployment, problems);
  check_settings(deployment, problems);
  return problems;
}

}  // namespace flopcast
