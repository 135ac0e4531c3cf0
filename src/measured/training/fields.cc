#include "measured/training/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace flopcast::measured {
namespace {

using nlohmann::json;

/// Objects of a run whose fields are read one by one. Of "model" the model's reader takes what it knows.
constexpr std::array<std::string_view, 5> kParts = {"system", "parallel", "batch", "measured",
                                                    "source"};

/// What has no meaning for a forecast: notes, sources, other measures of the same step, what follows from other fields. A
/// name that ends with a dot stands for all fields of that part.
constexpr std::array<std::string_view, 21> kIgnored = {
    "comment",        "comments",    "date",        "gpu_class", "licence",    "license",
    "measured.",      "name",        "notes",       "params_b",  "period",     "source.",
    "split",          "source",      "url",         "verified",  "model.note", "model.vocab_note",
    "system.cluster", "system.name", "system.nodes"};

/// What changes a step and is in no forecast, with what is taken instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kUnmodelled = {
    {{"parallel.sharp", "reductions in switches: rings and trees of chips are taken"},
     {"system.framework", "the software is that of framework, source and date"},
     {"system.intra", "links inside a node: those of the catalogue's node are taken"}}};

/// Fields of a model in its short form.
constexpr std::array<std::string_view, 21> kShortForm = {
    "name",    "arch",     "layers",     "hidden", "ffn",     "vocab",        "heads",
    "gated",   "experts",  "topk",       "attn",   "q_lora",  "kv_heads",     "head_dim",
    "kv_lora", "rope_dim", "expert_ffn", "window", "seq_len", "dense_layers", "shared_experts"};

std::string path_of(std::string_view part, std::string_view key) {
  return part.empty() ? std::string(key) : fmt::format("{}.{}", part, key);
}

template <typename List>
bool among(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_ignored(std::string_view path) {
  const std::size_t dot = path.find('.');
  const bool whole_part = dot != std::string_view::npos && among(kIgnored, path.substr(0, dot + 1));
  return path.starts_with('_') || whole_part || among(kIgnored, path);
}

/// What stands there, not too long.
std::string shown_value(const json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.is_string() ? value.get<std::string>()
                                       : value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

/// Whether the model's reader makes the same of both.
bool same_model(const json& a, const json& b) {
  const Result<Model> one = parse_model(a.dump(), "a"), other = parse_model(b.dump(), "b");
  if (!one || !other) return false;
  return one->kinds == other->kinds && one->order == other->order && one->vocab == other->vocab &&
         count_parameters(*one).total == count_parameters(*other).total;
}

}  // namespace

RunFields::RunFields(const json& run) : run_(run) {
  for (const char* part : {"system", "parallel", "batch", "measured", "model"}) {
    const auto found = run.find(part);
    const bool other = found != run.end() && !found->is_null() && !found->is_object();
    if (other) wrong("", part, "an object", *found);
  }
}

const json& RunFields::part(std::string_view name) const {
  static const json kNothing = json::object();
  const auto found = run_.find(name);
  return found != run_.end() && found->is_object() ? *found : kNothing;
}

bool RunFields::has(std::string_view part_name, std::string_view key) const {
  const json& object = part_name.empty() ? run_ : part(part_name);
  return object.find(key) != object.end();
}

const json* RunFields::find(std::string_view part_name, std::string_view key) {
  asked_.insert(path_of(part_name, key));
  const json& object = part_name.empty() ? run_ : part(part_name);
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

void RunFields::wrong(std::string_view part_name, std::string_view key, std::string_view expected,
                      const json& found) {
  if (!problem_.empty()) return;
  problem_ = fmt::format("{}: expected {}, found '{}'", path_of(part_name, key), expected,
                         shown_value(found));
}

std::string RunFields::text(std::string_view part_name, std::string_view key) {
  const json* const found = find(part_name, key);
  if (found == nullptr) return "";
  if (found->is_string()) return found->get<std::string>();
  wrong(part_name, key, "a text", *found);
  return "";
}

double RunFields::number(std::string_view part_name, std::string_view key) {
  const json* const found = find(part_name, key);
  if (found == nullptr) return 0;
  if (found->is_number()) return found->get<double>();
  wrong(part_name, key, "a number", *found);
  return 0;
}

std::int64_t RunFields::count(std::string_view part_name, std::string_view key,
                              std::int64_t otherwise) {
  const json* const found = find(part_name, key);
  if (found == nullptr) return otherwise;
  if (found->is_number()) return static_cast<std::int64_t>(found->get<double>());
  wrong(part_name, key, "a whole number", *found);
  return otherwise;
}

std::optional<bool> RunFields::flag(std::string_view part_name, std::string_view key) {
  const json* const found = find(part_name, key);
  if (found == nullptr) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  wrong(part_name, key, "true or false", *found);
  return std::nullopt;
}

std::vector<std::string> RunFields::texts(std::string_view part_name, std::string_view key) {
  std::vector<std::string> all;
  const json* const found = find(part_name, key);
  if (found == nullptr) return all;
  if (!found->is_array()) wrong(part_name, key, "a list of texts", *found);
  for (const json& item : found->is_array() ? *found : json::array()) {
    if (item.is_string()) all.push_back(item.get<std::string>());
    if (!item.is_string()) wrong(part_name, key, "a list of texts", item);
  }
  return all;
}

std::optional<std::string> RunFields::word(std::string_view part_name,
                                           const std::vector<std::string_view>& names) {
  std::optional<std::string> told;
  for (const std::string_view name : names) {
    if (told) break;  // another name of the same is told as one that nobody asked for
    const json* const found = find(part_name, name);
    if (found != nullptr) told = shown_value(*found);
  }
  return told;
}

void RunFields::unmodelled(std::string_view part_name, std::string_view key, std::string_view value,
                           std::string_view taken) {
  unmodelled_.push_back(fmt::format("{} '{}': {}", path_of(part_name, key), value, taken));
}

void RunFields::tell(TrainingRun& run) const {
  run.unmodelled = unmodelled_;
  for (const auto& [key, value] : run_.items()) {
    if (key == "model") continue;
    if (among(kParts, key) && value.is_object()) {
      tell_part(key, value, run);
    } else if (!among(kParts, key) || !value.is_null()) {
      tell_field(key, value, run);
    }
  }
  tell_model(run);
}

void RunFields::tell_part(std::string_view part_name, const json& object, TrainingRun& run) const {
  for (const auto& [key, value] : object.items()) tell_field(path_of(part_name, key), value, run);
}

void RunFields::tell_field(const std::string& path, const json& value, TrainingRun& run) const {
  if (asked_.contains(path) || value.is_null()) return;
  const auto known =
      std::ranges::find(kUnmodelled, path, &std::pair<std::string_view, std::string_view>::first);
  if (known != kUnmodelled.end()) {
    run.unmodelled.push_back(fmt::format("{}: {}", path, known->second));
  } else if (path.starts_with("system.") && has("system", "on")) {
    run.unmodelled.push_back(fmt::format("{}: system.on is taken", path));
  } else {
    (is_ignored(path) ? run.ignored : run.unknown).push_back(path);
  }
}

/// A config.json has many fields without meaning here; the short form has none.
void RunFields::tell_model(TrainingRun& run) const {
  const json& model = part("model");
  if (model.find("arch") == model.end()) return;
  for (const auto& [key, value] : model.items()) {
    const std::string path = path_of("model", key);
    if (value.is_null() || among(kShortForm, key)) continue;
    if (is_ignored(path)) {
      run.ignored.push_back(path);
      continue;
    }
    json without = model;
    without.erase(key);
    if (same_model(model, without)) run.unknown.push_back(path);
  }
}

}  // namespace flopcast::measured
