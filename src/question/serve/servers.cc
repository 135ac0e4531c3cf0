// Servers that a launch starts, as the settings of a question.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/text/names.h"
#include "flopcast/serving/servers.h"
#include "question/serve/values.h"

namespace flopcast::question {
namespace {

/// How checkpoints are called by the precision of their weights.
struct NameEnding {
  std::string_view ending, precision;
};
constexpr std::array kNameEndings = {
    NameEnding{"-fp8-dynamic", "fp8"}, NameEnding{"-fp8-block", "fp8"},
    NameEnding{"-fp8", "fp8"},         NameEnding{"-nvfp4", "fp4"},
    NameEnding{"-mxfp4", "fp4"},       NameEnding{"-fp4", "fp4"},
    NameEnding{"-awq", "int4"},        NameEnding{"-gptq-int4", "int4"},
    NameEnding{"-gptq", "int4"},       NameEnding{"-int4", "int4"},
    NameEnding{"-w4a16", "int4"},      NameEnding{"-bf16", "bf16"}};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// A model that a server names, as the question names it.
struct NamedModel {
  std::string name;       ///< a built-in one, or a path
  std::string precision;  ///< that its name tells; empty: none
  std::optional<Model> model;
};

std::optional<NamedModel> find_named(const std::string& told, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  NamedModel named{told, "", {}};
  if (told.empty() || told == "-" || told.find('\0') != std::string::npos) return std::nullopt;
  const auto take = [&named](const std::string& name) {
    Result<Model> model = load_model(name);
    if (!model) return false;
    named.name = name;
    named.model = std::move(*model);
    return true;
  };
  std::error_code ignored;
  const bool beside = !folder.empty() && fs::exists(folder / told / "config.json", ignored);
  if ((beside && take((folder / told).string())) || take(told)) return named;
  // "/models/Qwen3-32B-FP8": the folder's name, and the name without its precision.
  const std::string base = told.substr(told.rfind('/') + 1);
  const NamedPrecision ends = precision_in_name(base);
  if (!take(base) && (ends.rest.empty() || !take(ends.rest))) return std::nullopt;
  if (named.name != base) named.precision = ends.precision;
  return named;
}

bool has_experts(const Model& model) {
  return std::ranges::any_of(model.kinds, [](const Layer& one) { return one.experts.count > 0; });
}

/// Whether two servers are alike but for how many there are.
bool alike(const LaunchedServer& a, const LaunchedServer& b) {
  return a.engine == b.engine && a.model == b.model && a.layout == b.layout &&
         a.precision == b.precision && a.kv_cache == b.kv_cache && a.settings == b.settings &&
         a.drafts == b.drafts && a.draft_kind == b.draft_kind;
}

struct ServerPool {
  std::vector<const LaunchedServer*> servers;
  std::int64_t replicas = 0;
  const LaunchedServer* first() const { return servers.empty() ? nullptr : servers.front(); }
};

class FileMaker {
 public:
  FileMaker(const std::vector<LaunchedServer>& servers, const std::string& where,
            const std::filesystem::path& folder)
      : servers_(servers), where_(where), folder_(folder) {}

  Result<ServeFile> make() {
    if (auto problem = gather()) return *problem;
    const LaunchedServer& lead = *(whole_.first() ? whole_.first() : prefill_.first());
    set("engine", std::string(name(lead.engine)));
    name_model(lead);
    const bool split = whole_.servers.empty();
    if (split) {
      add_layout(*prefill_.first(), "prefill_");
      add_layout(*decode_.first(), "decode_");
      set("disaggregated", fmt::format("{}:{}", prefill_.replicas, decode_.replicas));
      add_settings(*prefill_.first(), "prefill.");
      add_settings(*decode_.first(), "decode.");
    } else {
      add_layout(lead, "");
      set("replicas", std::to_string(whole_.replicas));
      add_settings(lead, "");
    }
    add_common(split ? *decode_.first() : lead);
    file_.launch = LaunchedFlags{};
    for (const LaunchedServer& server : servers_) add_flags(server);
    return std::move(file_);
  }

 private:
  void set(const std::string& name, std::string value) {
    file_.settings.emplace_back(name, std::move(value));
  }

  Diagnostic refuse(std::string what, std::string hint) const {
    return {ErrorCode::kBadInput, where_, std::move(what), std::move(hint)};
  }

  /// Servers by what they do; those of a pool must be alike.
  std::optional<Diagnostic> gather() {
    for (const LaunchedServer& server : servers_) {
      ServerPool& pool = server.role == ServingRole::kWhole     ? whole_
                         : server.role == ServingRole::kPrefill ? prefill_
                                                                : decode_;
      if (pool.first() != nullptr && !alike(*pool.first(), server)) {
        return refuse(fmt::format("starts several servers that differ: {} and {}",
                                  words_of(*pool.first()), words_of(server)),
                      "give a file that starts one of them");
      }
      pool.servers.push_back(&server);
      pool.replicas += std::max<std::int64_t>(server.replicas, 1);
    }
    if (!whole_.servers.empty()) return std::nullopt;
    if (prefill_.servers.empty() || decode_.servers.empty()) {
      return refuse(fmt::format("starts servers of {} alone",
                                prefill_.servers.empty() ? "answers" : "prompts"),
                    "give a file that starts those of prompts and those of answers");
    }
    const LaunchedServer &a = *prefill_.first(), &b = *decode_.first();
    if (a.engine != b.engine || a.model != b.model || a.precision != b.precision ||
        a.kv_cache != b.kv_cache) {
      return refuse(fmt::format("prompts and answers have different servers: {} and {}",
                                words_of(a), words_of(b)),
                    "engine, model and precision are those of both");
    }
    return std::nullopt;
  }

  static std::string words_of(const LaunchedServer& server) {
    return fmt::format("{} of {}, tp {}", server.program,
                       server.model.empty() ? "no model" : server.model, server.layout.tp);
  }

  void name_model(const LaunchedServer& lead) {
    if (lead.model.empty()) return;
    file_.model = lead.model;
    named_ = find_named(lead.model, folder_);
    std::string precision = lead.precision;
    if (named_) {
      file_.model = named_->name;
      if (precision.empty()) precision = named_->precision;
      if (named_->name != lead.model && !named_->precision.empty()) {
        note(fmt::format("{}: {} with weights in {}, as its name says", lead.model,
                         named_->model->name, named_->precision));
      } else if (named_->name != lead.model && folder_.empty()) {
        note(fmt::format("{}: {}, by its name", lead.model, named_->model->name));
      }
    }
    if (!precision.empty()) set("precision", precision);
    if (!lead.kv_cache.empty()) {
      set("kv_cache", lead.kv_cache);
    } else if (!precision.empty() && lead.engine != ServingEngine::kTensorRtLlm &&
               !lower_case(lead.model).starts_with("nvidia/")) {
      // vLLM and SGLang keep them in 16 bits unless a flag or the checkpoint's own scheme says otherwise.
      set("kv_cache", "bf16");
      note("keys and values in 16 bits: no flag says otherwise");
    }
  }

  void add_layout(const LaunchedServer& server, const std::string& prefix) {
    ServingLayout layout = server.layout;
    if (server.ranks_need_experts && named_ && !has_experts(*named_->model)) {
      // Ranks of a dense model have nothing in common: each is a server.
      ServerPool& pool = prefix.empty() ? whole_ : prefix == "prefill_" ? prefill_ : decode_;
      pool.replicas *= layout.dp;
      note(fmt::format("{} data-parallel ranks of a dense model: as many replicas", layout.dp));
      layout.dp = 1;
      layout.ep = 1;
    }
    set(prefix + "tp", std::to_string(layout.tp));
    set(prefix + "dp", std::to_string(layout.dp));
    const bool dense = named_ && !has_experts(*named_->model);
    set(prefix + "ep", std::to_string(dense ? 1 : layout.ep));
    set(prefix + "pp", std::to_string(layout.pp));
  }

  /// Of one pool by "set"; else those that have a name of their own by that, so that flags stand before them.
  void add_settings(const LaunchedServer& server, const std::string& pool) {
    for (const auto& setting : server.settings) {
      const auto& [name, value] = setting;
      const bool own = pool.empty() && std::ranges::any_of(serve_settings(), [&](const auto& one) {
                         return one.name == setting.first;
                       });
      if (own) {
        set(name, value);
      } else {
        set("set", pool + name + "=" + value);
      }
    }
    if (!server.version.empty()) set("set", pool + "version=" + server.version);
  }

  /// What pools have in common.
  void add_common(const LaunchedServer& server) {
    if (server.drafts > 0) {
      set("drafts", std::to_string(server.drafts));
      set("draft_kind", server.draft_kind);
    }
    if (server.longest > 0) set("max_length", std::to_string(server.longest));
  }

  void add_flags(const LaunchedServer& server) {
    const auto add = [](const std::vector<std::string>& more, std::vector<std::string>& all) {
      for (const std::string& one : more) {
        if (std::ranges::find(all, one) == all.end()) all.push_back(one);
      }
    };
    LaunchedFlags& all = *file_.launch;
    add(server.flags.used, all.used);
    add(server.flags.without_meaning, all.without_meaning);
    add(server.flags.unmodelled, all.unmodelled);
    add(server.flags.unknown, all.unknown);
    add(server.notes, file_.notes);
  }

  void note(std::string text) { file_.notes.push_back(std::move(text)); }

  const std::vector<LaunchedServer>& servers_;
  const std::string& where_;
  const std::filesystem::path& folder_;
  ServerPool whole_, prefill_, decode_;
  std::optional<NamedModel> named_;
  ServeFile file_;
};

}  // namespace

NamedPrecision precision_in_name(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  const std::string small = lower_case(base);
  for (const auto& [ending, precision] : kNameEndings) {
    if (!small.ends_with(ending) || small.size() == ending.size()) continue;
    return {precision, std::string(base.substr(0, base.size() - ending.size()))};
  }
  return {};
}

Result<ServeFile> file_of_servers(std::string_view text, const std::string& where,
                                  const std::filesystem::path& folder,
                                  const std::string& arguments) {
  const Result<std::vector<LaunchedServer>> servers =
      read_servers(text, where, {folder, arguments});
  if (!servers) return servers.error();
  return FileMaker(*servers, where, folder).make();
}

}  // namespace flopcast::question
