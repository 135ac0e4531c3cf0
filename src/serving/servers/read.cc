// Flags of a command by kind, their values, and what an options file adds.
#include "serving/servers/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "base/text/yaml.h"
#include "flopcast/serving/fields.h"

namespace flopcast::serving {
namespace {

constexpr std::int64_t kMostCount = 1'000'000'000'000;

bool is_false(std::string_view text) { return name_key(text) == "false" || text == "0"; }
bool is_true(std::string_view text) { return name_key(text) == "true" || text == "1"; }

/// "tp" of "tp", "overlap" of "overlap=false".
struct Target {
  std::string_view name, fixed;
};
Target target_of(std::string_view words) {
  const std::size_t sign = words.find('=');
  return sign == std::string_view::npos ? Target{words, {}}
                                        : Target{words.substr(0, sign), words.substr(sign + 1)};
}

/// Settings whose values are numbers of a whole kind.
bool is_whole_target(std::string_view target) {
  return target != "memory_share" && target != "conservativeness" && target != "batch_wait_ratio" &&
         !target.starts_with('@');
}

class ServerReader {
 public:
  ServerReader(const ServerCommand& command, const std::string& where, const FileText& files)
      : command_(command), where_(where), files_(files) {
    server_.engine = command.engine;
    server_.program = command.program;
    server_.version = command.version;
  }

  Result<LaunchedServer> read() {
    std::vector<std::string> before;
    const std::vector<ServerFlag> flags = server_flags(command_.words, before);
    for (const ServerFlag& flag : flags) take(flag);
    if (!before.empty()) taken_.values["@model"] = {before.front()};
    read_options();
    if (problem_) return *problem_;
    finish();
    if (problem_) return *problem_;
    return std::move(server_);
  }

 private:
  void wrong(const ServerFlag& flag, std::string what, std::string hint) {
    if (problem_) return;
    problem_ = Diagnostic{ErrorCode::kBadInput, where_,
                          fmt::format("{}: {}", flag.text().substr(0, 80), what), std::move(hint)};
  }

  void take(const ServerFlag& flag) {
    const std::string_view name = flag.name;
    const bool later = name == "node-rank" && flag.values.size() == 1 && flag.values[0] != "0" &&
                       parse_whole(flag.values[0]);
    server_.follows = server_.follows || later || name == "headless";
    FlagMeaning meaning = flag_meaning(command_.engine, name, command_.dynamo);
    if (meaning.kind == FlagKind::kUnknown) {
      // "--speculative-config.method mtp" is a member of the flag's JSON.
      const std::size_t dot = name.find('.');
      const FlagMeaning whole =
          dot == std::string_view::npos
              ? FlagMeaning{}
              : flag_meaning(command_.engine, name.substr(0, dot), command_.dynamo);
      if (whole.kind != FlagKind::kUnknown) return take_member(flag, dot, whole);
    }
    switch (meaning.kind) {
      case FlagKind::kUsed:
        server_.flags.used.push_back(flag.text());
        return take_used(flag, target_of(meaning.words));
      case FlagKind::kWithoutMeaning:
        server_.flags.without_meaning.push_back(flag.text());
        return;
      case FlagKind::kUnmodelled:
        if (flag.values.size() == 1 && is_false(flag.values[0])) {  // switched off
          server_.flags.without_meaning.push_back(flag.text());
          return;
        }
        server_.flags.unmodelled.push_back(fmt::format("{}: {}", flag.text(), meaning.words));
        return;
      case FlagKind::kUnknown:
        server_.flags.unknown.push_back(flag.text());
    }
  }

  void take_member(const ServerFlag& flag, std::size_t dot, const FlagMeaning& whole) {
    if (whole.kind != FlagKind::kUsed) {
      auto& kind = whole.kind == FlagKind::kUnmodelled ? server_.flags.unmodelled
                                                       : server_.flags.without_meaning;
      kind.push_back(flag.text());
      return;
    }
    server_.flags.used.push_back(flag.text());
    nlohmann::json value = flag.values.empty()
                               ? nlohmann::json(true)
                               : nlohmann::json::parse(flag.values[0], nullptr, false);
    if (value.is_discarded()) value = flag.values[0];
    std::vector<std::string>& text = taken_.values[std::string(whole.words)];
    nlohmann::json object = text.empty() ? nlohmann::json::object()
                                         : nlohmann::json::parse(text.back(), nullptr, false);
    if (!object.is_object()) object = nlohmann::json::object();
    std::string key = flag.name.substr(dot + 1);
    std::ranges::replace(key, '-', '_');
    object[key] = std::move(value);
    text = {object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  }

  void take_used(const ServerFlag& flag, const Target& target) {
    for (const std::string& value : flag.values) {
      const bool open = value.find('$') != std::string::npos && !value.starts_with('{');
      if (!open || target.name == "@model") continue;
      return wrong(flag, "the value is left to who starts it",
                   "say what it is started with, such as --from-args \"TP=4\"");
    }
    const std::string name(target.name);
    if (!target.fixed.empty()) {
      std::vector<std::string> rest = flag.values;
      bool on = target.fixed == "true";
      if (!rest.empty() && (is_true(rest[0]) || is_false(rest[0]))) {
        if (is_false(rest[0])) on = !on;
        rest.erase(rest.begin());
      }
      if (!flag.from_file) take_model_behind(rest, 0);
      taken_.values[name] = {on ? "true" : "false"};
      return;
    }
    if (name.starts_with('@')) {
      taken_.values[name] = flag.values;
      if (name != "@graphs" && name != "@model" && !flag.from_file)
        take_model_behind(flag.values, 1);
      return;
    }
    if (flag.values.empty()) return wrong(flag, "has no value", "give one");
    const std::optional<std::string> value = checked(name, flag.values[0]);
    if (!value)
      return wrong(flag, fmt::format("expected a number, found '{}'", flag.values[0]), "");
    if (!flag.from_file) take_model_behind(flag.values, 1);
    taken_.values[name] = {*value};
  }

  /// "vllm serve --tensor-parallel-size 4 MODEL": what stands behind a flag's value.
  void take_model_behind(const std::vector<std::string>& values, std::size_t used) {
    if (values.size() > used && !taken_.has("@model")) taken_.values["@model"] = {values[used]};
  }

  static std::optional<std::string> checked(std::string_view target, const std::string& text) {
    if (is_whole_target(target)) {
      const auto count = counted_value(text);
      return count ? std::optional(std::to_string(*count)) : std::nullopt;
    }
    const std::optional<double> number = parse_number(text);
    return number && *number >= 0 ? std::optional(text) : std::nullopt;
  }

  /// The YAML that the command names overrules its flags.
  void read_options() {
    const std::optional<std::string> name = taken_.value("@options");
    if (!name) return;
    const std::optional<std::string> text = files_(*name);
    if (!text) {
      server_.flags.unmodelled.push_back(
          fmt::format("{}: the file is not at hand, flags and defaults alone", *name));
      return;
    }
    const Result<std::vector<ServerFlag>> flags = option_flags(*text, *name);
    if (!flags) {
      if (!problem_) problem_ = flags.error();
      return;
    }
    for (const ServerFlag& flag : *flags) take(flag);
  }

  /// A degree, from 1 on.
  unsigned degree(std::string_view target) const {
    constexpr std::int64_t kMostDegree = 1 << 16;
    return static_cast<unsigned>(std::clamp<std::int64_t>(taken_.whole(target, 1), 1, kMostDegree));
  }

  void finish() {
    if (const auto model = taken_.value("@model")) {
      const bool open = model->find('$') != std::string::npos;
      if (!open) server_.model = *model;
      if (open)
        server_.notes.push_back(fmt::format("the model is left to who starts it: {}", *model));
    }
    if (const auto longest = taken_.value("@longest")) {
      if (*longest != "auto" && *longest != "-1") {
        const auto count = counted_value(*longest);
        if (!count) return wrong({"max-model-len", {*longest}}, "expected a number of tokens", "");
        server_.longest = *count;
      }
    }
    server_.layout = {degree("tp"), degree("dp"), degree("ep"), degree("pp")};
    EngineSettings none;
    visit_engine_settings(none, [&](std::string_view setting, auto&) {
      if (const auto value = taken_.value(setting)) {
        server_.settings.emplace_back(setting, *value);
      }
    });
    set_types(taken_, server_);
    switch (server_.engine) {
      case ServingEngine::kVllm:
        return finish_vllm(taken_, server_);
      case ServingEngine::kSglang:
        return finish_sglang(taken_, server_);
      case ServingEngine::kTensorRtLlm:
        return finish_trtllm(taken_, server_);
    }
  }

  const ServerCommand& command_;
  const std::string& where_;
  const FileText& files_;
  LaunchedServer server_;
  TakenFlags taken_;
  std::optional<Diagnostic> problem_;
};

/// A scalar of YAML as a word; a list's items; whether the value is one of them.
bool words_of_value(const nlohmann::ordered_json& value, std::vector<std::string>& words) {
  if (value.is_string()) return words.push_back(value.get<std::string>()), true;
  if (value.is_boolean()) return words.emplace_back(value.get<bool>() ? "true" : "false"), true;
  if (value.is_number()) return words.push_back(value.dump()), true;
  if (value.is_null()) return words.emplace_back("null"), true;
  if (!value.is_array()) return false;
  return std::ranges::all_of(
      value, [&](const auto& item) { return !item.is_array() && words_of_value(item, words); });
}

void flatten(const nlohmann::ordered_json& mapping, const std::string& head,
             std::vector<ServerFlag>& out) {
  for (const auto& [key, value] : mapping.items()) {
    ServerFlag flag{head + key, {}, true};
    std::ranges::replace(flag.name, '_', '-');
    if (value.is_object()) {
      flatten(value, flag.name + ".", out);
      continue;
    }
    if (!words_of_value(value, flag.values)) flag.values = {"..."};
    out.push_back(std::move(flag));
  }
}

}  // namespace

const std::vector<std::string>* TakenFlags::find(std::string_view target) const {
  const auto found = values.find(target);
  return found == values.end() ? nullptr : &found->second;
}

std::optional<std::string> TakenFlags::value(std::string_view target) const {
  const std::vector<std::string>* found = find(target);
  if (found == nullptr || found->empty()) return std::nullopt;
  return found->front();
}

std::int64_t TakenFlags::whole(std::string_view target, std::int64_t otherwise) const {
  const std::optional<std::string> text = value(target);
  return text ? counted_value(*text).value_or(otherwise) : otherwise;
}

std::optional<std::int64_t> counted_value(std::string_view text) {
  double unit = 1;
  constexpr std::string_view kSmall = "kmgt", kLarge = "KMGT";
  if (!text.empty()) {
    const std::size_t small = kSmall.find(text.back()), large = kLarge.find(text.back());
    if (small != std::string_view::npos) unit = std::pow(1000.0, static_cast<double>(small + 1));
    if (large != std::string_view::npos) unit = std::pow(1024.0, static_cast<double>(large + 1));
    if (unit > 1) text.remove_suffix(1);
  }
  const std::optional<double> number = parse_number(text);
  if (!number) return std::nullopt;
  const double count = *number * unit;
  if (!(count >= 0 && count <= static_cast<double>(kMostCount)) || count != std::floor(count)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(count);
}

Result<std::vector<ServerFlag>> option_flags(std::string_view yaml, const std::string& where) {
  const Result<YamlFile> file = parse_yaml(yaml, where);
  if (!file) return file.error();
  std::vector<ServerFlag> flags;
  if (file->root.is_object()) flatten(file->root, "", flags);
  return flags;
}

Result<LaunchedServer> read_server(const ServerCommand& command, const std::string& where,
                                   const FileText& files) {
  return ServerReader(command, where, files).read();
}

}  // namespace flopcast::serving
