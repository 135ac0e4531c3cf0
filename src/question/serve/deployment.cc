// The part of a question that says what one replica is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/serving/fields.h"
#include "question/serve/values.h"

namespace flopcast::question {
namespace {

/// One setting of an engine from text; whether it was such a value.
struct EngineSettingReader {
  std::string_view text;

  bool read(std::int64_t& out) const {
    const auto value = whole_from(text, 0);
    return value ? (out = *value, true) : false;
  }
  bool read(unsigned& out) const {
    const auto value = parse_whole<unsigned>(text);
    return value ? (out = *value, true) : false;
  }
  bool read(double& out) const {
    const auto value = parse_number(text);
    return value && *value >= 0 ? (out = *value, true) : false;
  }
  bool read(bool& out) const {
    const auto value = flag_from(text);
    return value ? (out = *value, true) : false;
  }
  bool read(CapacityPolicy& out) const {
    const std::string key = name_key(text);
    if (key != "noevict" && key != "maxutilisation" && key != "maxutilization") return false;
    out = key == "noevict" ? CapacityPolicy::kNoEvict : CapacityPolicy::kMaxUtilisation;
    return true;
  }
  /// "1,2,4,8"; nothing captured where it is empty.
  bool read(std::vector<std::int64_t>& out) const {
    std::vector<std::int64_t> sizes;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t comma = rest.find(',');
      const auto size = whole_from(trim(rest.substr(0, comma)), 1);
      if (!size || (!sizes.empty() && *size <= sizes.back())) return false;
      sizes.push_back(*size);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    out = std::move(sizes);
    return true;
  }
};

std::vector<std::string> engine_setting_names() {
  std::vector<std::string> names = {"version"};
  EngineSettings none;
  visit_engine_settings(none, [&](std::string_view name, auto&) { names.emplace_back(name); });
  return names;
}

/// "KEY=VALUE", or "prefill.KEY=VALUE" of one pool alone.
void set_engine_setting(ServeValues& values, std::string_view role, const std::string& text,
                        EngineSettings& settings) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos) {
    return values.wrong("set", fmt::format("expected KEY=VALUE, found '{}'", text),
                        "such as memory_share=0.85");
  }
  std::string_view key = trim(std::string_view(text).substr(0, sign));
  const std::string_view value = trim(std::string_view(text).substr(sign + 1));
  if (const std::size_t dot = key.find('.'); dot != std::string_view::npos) {
    const std::string_view pool = key.substr(0, dot);
    if (pool != "prefill" && pool != "decode") {
      return values.wrong("set", fmt::format("there is no pool '{}'", pool), "prefill or decode");
    }
    key.remove_prefix(dot + 1);
    if (pool != role) return;
  }
  if (key == "version") {
    settings.version = value;
    return;
  }
  bool known = false, good = false;
  visit_engine_settings(settings, [&](std::string_view name, auto& field) {
    if (name_key(name) != name_key(key)) return;
    known = true;
    good = EngineSettingReader{value}.read(field);
  });
  if (!known) {
    return values.wrong("set", fmt::format("engines have no setting '{}'", key),
                        did_you_mean(key, engine_setting_names(),
                                     "docs/reference/serve-files.md has every setting"));
  }
  if (!good) values.wrong("set", fmt::format("'{}' is no value of {}", value, key), "");
}

/// "1.79", or "1:1.79,3:2.49" between whose points the number of drafts lies.
std::optional<double> accepted_of(std::string_view text, unsigned drafts) {
  if (text.find(':') == std::string_view::npos) return parse_number(text);
  double before_d = 0, before = 1;  // without drafts a step brings one token
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = trim(text.substr(0, comma));
    const std::size_t colon = piece.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto d = parse_number(trim(piece.substr(0, colon)));
    const auto tokens = parse_number(trim(piece.substr(colon + 1)));
    if (!d || !tokens || *d <= before_d) return std::nullopt;
    if (*d >= drafts) {
      return before + (*tokens - before) * (drafts - before_d) / (*d - before_d);
    }
    before_d = *d, before = *tokens;
    if (comma == std::string_view::npos) return before;  // more drafts bring no more
    text.remove_prefix(comma + 1);
  }
}

void read_drafts(ServeValues& values, Speculation& speculation) {
  values.whole("drafts", speculation.drafts, 0);
  if (const std::string* kind = values.last("draft_kind")) {
    if (*kind != "mtp" && *kind != "eagle") {
      values.wrong("draft_kind", fmt::format("expected mtp or eagle, found '{}'", *kind), "");
    }
    speculation.kind = *kind == "eagle" ? Speculation::Kind::kEagle : Speculation::Kind::kMtp;
  }
  if (speculation.drafts == 0) {
    speculation = {};
    if (values.has("accepted")) values.wrong("accepted", "nothing is drafted", "give --drafts");
    return;
  }
  if (speculation.drafts > 16) {
    values.wrong("drafts", "expected at most 16", "");
    return;
  }
  if (speculation.kind == Speculation::Kind::kNone) speculation.kind = Speculation::Kind::kMtp;
  const std::string* accepted = values.last("accepted");
  if (accepted == nullptr) {
    values.wrong("accepted", "is missing: how many tokens a step with drafts brings",
                 "a number from 1 to drafts + 1; on real prompts 1.8 with one draft is usual");
    return;
  }
  const auto tokens = accepted_of(*accepted, speculation.drafts);
  if (tokens && *tokens >= 1 && *tokens <= speculation.drafts + 1) {
    speculation.accepted = *tokens;
  } else {
    values.wrong("accepted",
                 fmt::format("expected 1 to {} tokens a step, found '{}'", speculation.drafts + 1,
                             *accepted),
                 "or a curve such as 1:1.79,3:2.49");
  }
}

ServingLayout read_layout(ServeValues& values, const std::string& prefix) {
  ServingLayout layout;
  const auto read = [&](const char* degree, unsigned& out) {
    values.whole(degree, out, 1);
    if (!prefix.empty()) values.whole(prefix + degree, out, 1);
  };
  read("tp", layout.tp);
  read("dp", layout.dp);
  read("ep", layout.ep);
  read("pp", layout.pp);
  return layout;
}

void read_precision(ServeValues& values, const Model& model, ServingPrecision& precision,
                    std::vector<std::string>& assumed) {
  const std::string* text = values.last("precision");
  if (text == nullptr) assumed.push_back(stored_words(model));
  const Result<ServingPrecision> known =
      text == nullptr ? stored_precision(model) : serving_precision(*text, model);
  if (!known) return values.wrong("precision", known.error());
  precision = *known;
  if (text != nullptr) tell_precision(*text, precision, model, assumed);
  if (const std::string* kv = values.last("kv_cache")) {
    const std::optional<DataType> type = parse_data_type(*kv);
    if (!type) {
      return values.wrong("kv_cache", fmt::format("there is no type '{}'", *kv),
                          "such as bf16 or fp8");
    }
    precision.kv_cache = *type;
  }
}

/// "version=0.10" among the settings of an engine: whose defaults hold.
std::string version_told(ServeValues& values, std::string_view role) {
  std::string version;
  for (const std::string& text : values.all("set")) {
    std::string_view pair = text;
    for (const std::string_view pool : {"prefill.", "decode."}) {
      if (pair.starts_with(pool) && pool.substr(0, pool.size() - 1) == role) {
        pair.remove_prefix(pool.size());
      }
    }
    const std::size_t sign = pair.find('=');
    if (sign != std::string_view::npos && trim(pair.substr(0, sign)) == "version") {
      version = trim(pair.substr(sign + 1));
    }
  }
  return version;
}

/// Rules of releases that are not those that are followed.
void check_version(ServeValues& values, ServingEngine engine, const std::string& version) {
  const std::string_view first = version;
  // vLLM's first engine scheduled otherwise: prompts by themselves, no chunks, swapping.
  constexpr std::array<std::string_view, 8> kOld = {"0.0.", "0.1.", "0.2.", "0.3.",
                                                    "0.4.", "0.5.", "0.6.", "0.7."};
  const auto is_old = [&](std::string_view old) {
    return first.starts_with(old) || first == old.substr(0, old.size() - 1);
  };
  if (engine != ServingEngine::kVllm || !std::ranges::any_of(kOld, is_old)) return;
  values.wrong("set",
               fmt::format("version {}: the scheduler of vLLM before 0.8 is not modelled", version),
               "0.8 or newer");
}

}  // namespace

std::string stored_words(const Model& model) {
  const StoredPrecision& stored = model.stored;
  if (!stored.quantised()) return "no precision given: bf16";
  std::string text = fmt::format("no precision given: the checkpoint's own, {}", stored.method);
  for (const std::string& part : stored.mixed) {
    text += fmt::format("; of {} what most of it is stored in", part);
  }
  return text;
}

void tell_precision(std::string_view text, const ServingPrecision& precision, const Model& model,
                    std::vector<std::string>& assumed) {
  const Result<ServingPrecision> own = stored_precision(model);
  const auto weights = [](const ServingPrecision& p) {
    return std::tuple(p.attention, p.dense, p.experts);
  };
  if (own && weights(*own) == weights(precision)) return;
  assumed.push_back(fmt::format("{} needs {}: the published one is in {}", text,
                                text == "bf16" ? "another checkpoint" : "a quantised checkpoint",
                                model.stored.quantised() ? model.stored.method : "bf16"));
}

Deployment read_deployment(ServeValues& values, std::string_view role, const Model& model,
                           const Cluster& cluster, std::vector<std::string>& assumed) {
  Deployment deployment;
  deployment.model = model;
  deployment.cluster = cluster;
  const std::string* engine = values.last("engine");
  const std::optional<ServingEngine> known = parse_serving_engine(engine ? *engine : "vllm");
  if (!known) {
    values.wrong("engine", fmt::format("there is no engine '{}'", *engine),
                 "vllm, sglang or trtllm");
    return deployment;
  }
  deployment.layout = read_layout(values, role.empty() ? "" : std::string(role) + "_");
  read_precision(values, model, deployment.precision, assumed);
  EngineSettings& settings = deployment.settings;
  const std::string version = version_told(values, role);
  check_version(values, *known, version);
  settings = engine_defaults(*known, model, deployment.layout, version, &cluster.chip);
  values.whole("batch_tokens", settings.batch_tokens, 1);
  values.whole("max_requests", settings.max_requests, 1);
  values.flag("chunked_prefill", settings.chunked_prefill);
  values.flag("prefix_cache", settings.prefix_cache);
  read_drafts(values, settings.speculation);
  for (const std::string& text : values.all("set")) {
    set_engine_setting(values, role, text, settings);
  }
  if (settings.graphs.empty()) {
    assumed.emplace_back(
        "nothing is captured: every kernel is launched by the host, by their number in a layer");
  }
  return deployment;
}

}  // namespace flopcast::question
