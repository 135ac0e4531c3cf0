// Reads files of what-ifs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files/read_file.h"
#include "base/numeric/clock.h"
#include "base/text/json_error.h"
#include "base/text/names.h"
#include "flopcast/base/time_factor.h"
#include "flopcast/question/whatif.h"

namespace flopcast {
namespace {

/// Changes stay in the order in which they are written.
using json = nlohmann::ordered_json;

constexpr const char* kReference = "docs/reference/what-if-files.md has the fields of a case";

/// Numbers and names as the command line has them.
std::optional<std::string> word(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_number_unsigned()) return value.dump();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return std::nullopt;
}

/// Reads one case; the first problem met is kept.
class CaseReader {
 public:
  CaseReader(const json& given, std::size_t number, std::string where,
             const std::filesystem::path& folder)
      : given_(given), where_(std::move(where)), folder_(folder) {
    out_.id = fmt::format("case {}", number + 1);
  }

  WhatIfCase read() {
    if (!given_.is_object()) {
      wrong("a case is an object");
      return std::move(out_);
    }
    if (const auto id = given_.find("id"); id != given_.end()) {
      if (const auto text = word(*id); text && !text->empty()) out_.id = *text;
    }
    where_ += ": " + out_.id;
    out_.recording = path("recording", given_);
    read_changes();
    read_truth();
    read_judge();
    out_.changes.steps = words("steps", given_);
    return std::move(out_);
  }

 private:
  void wrong(std::string what) {
    if (!out_.problem) out_.problem = {ErrorCode::kBadInput, where_, std::move(what), kReference};
  }

  /// A member; nothing where it is absent or null.
  static const json* member(const char* key, const json& of) {
    const auto found = of.find(key);
    return found == of.end() || found->is_null() ? nullptr : &*found;
  }

  std::string text(const char* key, const json& of) {
    const json* value = member(key, of);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      wrong(fmt::format("\"{}\" is a text", key));
      return {};
    }
    return value->get<std::string>();
  }

  std::filesystem::path path(const char* key, const json& of) {
    const std::string name = text(key, of);
    if (name.find('\0') != std::string::npos) wrong(fmt::format("\"{}\" is no path", key));
    return name.empty() || out_.problem ? std::filesystem::path() : folder_ / name;
  }

  /// A list of words, or one.
  std::vector<std::string> words(const char* key, const json& of) {
    std::vector<std::string> list;
    const json* value = member(key, of);
    if (value == nullptr) return list;
    const json one = value->is_array() ? *value : json::array({*value});
    for (const json& each : one) {
      const auto text = word(each);
      if (!text) {
        wrong(fmt::format("\"{}\" is a list of texts", key));
        return {};
      }
      list.push_back(*text);
    }
    return list;
  }

  void read_changes() {
    const json* changes = member("changes", given_);
    if (changes == nullptr) return;
    if (!changes->is_object()) return wrong("\"changes\" is an object");
    static const std::vector<std::string> kKnown = {
        "set", "scale", "remove", "add", "kernels_from", "chip", "on", "scale_only"};
    for (const auto& [key, value] : changes->items()) {
      if (std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end()) continue;
      return wrong(fmt::format("\"{}\" is no change: {}", key,
                               did_you_mean(key, kKnown, "there are " + joined(kKnown))));
    }
    read_set(*changes);
    read_scale(*changes);
    out_.changes.remove = words("remove", *changes);
    out_.changes.add = words("add", *changes);
    out_.changes.kernels_from = path("kernels_from", *changes);
    out_.changes.chip = text("chip", *changes);
    out_.changes.on = text("on", *changes);
    if (const json* only = member("scale_only", *changes)) {
      if (!only->is_boolean()) return wrong("\"scale_only\" is true or false");
      out_.changes.scale_only = only->get<bool>();
    }
  }

  static std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  void read_set(const json& changes) {
    const json* set = member("set", changes);
    if (set == nullptr) return;
    if (!set->is_object()) return wrong("\"set\" is an object: {\"dp\": 4}");
    for (const auto& [name, value] : set->items()) {
      const auto text = word(value);
      if (!text) return wrong(fmt::format("\"set\": \"{}\" is a number or a name", name));
      out_.changes.set.emplace_back(name, *text);
    }
  }

  void read_scale(const json& changes) {
    const json* scale = member("scale", changes);
    if (scale == nullptr) return;
    if (!scale->is_object()) return wrong("\"scale\" is an object: {\"kernel:gemm\": 0.8}");
    for (const auto& [what, factor] : scale->items()) {
      if (factor.is_number()) {
        out_.changes.scale.push_back({what, factor.get<double>(), {}});
        continue;
      }
      const auto read = factor.is_string()
                            ? parse_time_factor(factor.get<std::string>(), what)
                            : Result<TimeFactor>(usage_error(what, "is no factor", ""));
      if (!read) {
        return wrong(
            fmt::format("\"scale\": \"{}\" is a number or words such as \"2x faster\"", what));
      }
      out_.changes.scale.push_back({what, read->factor, read->words});
    }
  }

  void read_truth() {
    const json* truth = member("truth", given_);
    if (truth == nullptr) return;
    if (!truth->is_object()) return wrong("\"truth\" is an object: {\"step_s\": 0.0334}");
    out_.truth_recording = path("recording", *truth);
    const json* step = member("step_s", *truth);
    if (step == nullptr) {
      if (out_.truth_recording.empty()) wrong("\"truth\" has a \"step_s\" or a \"recording\"");
      return;
    }
    if (!step->is_number() || !(step->get<double>() > 0)) {
      return wrong("\"truth\": \"step_s\" is a number of seconds above 0");
    }
    if (!fits_clock(Seconds{step->get<double>()}))
      return wrong("\"truth\": \"step_s\" is longer than the 53 days that a time may be");
    out_.truth_s = step->get<double>();
  }

  void read_judge() {
    const std::string judge = text("judge", given_);
    if (!judge.empty() && judge != "gpu_step" && judge != "host_step") {
      wrong(fmt::format("\"judge\" is \"gpu_step\" or \"host_step\", not \"{}\"", judge));
    }
    out_.host_step = judge == "host_step";
  }

  const json& given_;
  std::string where_;
  const std::filesystem::path& folder_;
  WhatIfCase out_;
};

}  // namespace

Result<std::vector<WhatIfCase>> parse_whatif_cases(std::string_view text, const std::string& where,
                                                   const std::filesystem::path& folder) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    return Diagnostic{ErrorCode::kBadInput,
                      fmt::format("{}:byte {}", where, json_error_byte(text).value_or(0)),
                      "the text is no JSON", kReference};
  }
  const bool cases = document.is_object() && document.contains("cases");
  const json& list = cases ? document["cases"] : document;
  if (!list.is_array() || list.empty()) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      "expected what-ifs: JSON with a list \"cases\", found none", kReference};
  }
  std::vector<WhatIfCase> out;
  for (std::size_t i = 0; i < list.size(); ++i)
    out.push_back(CaseReader(list[i], i, where, folder).read());
  return out;
}

Result<std::vector<WhatIfCase>> read_whatif_cases(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_whatif_cases(*text, path.string(), path.parent_path());
}

}  // namespace flopcast
