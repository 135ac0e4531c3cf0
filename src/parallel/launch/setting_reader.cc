#include "parallel/launch/setting_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/parallel/names.h"

namespace flopcast::parallel {

Diagnostic bad_value(const std::string& where, std::string_view key, std::string_view expected,
                     std::string_view found) {
  return {ErrorCode::kBadInput, where,
          fmt::format("{}: expected {}, found '{}'", key, expected, found.substr(0, 60)),
          "correct the value"};
}

std::string setting_words(const LaunchSetting& setting) {
  std::string words = readable(setting.shown);
  for (const std::string& value : setting.values) words += " " + readable(value);
  constexpr std::size_t kShown = 80;
  return words.substr(0, kShown);
}

void add_once(std::vector<std::string>& all, std::string words) {
  if (std::find(all.begin(), all.end(), words) == all.end()) all.push_back(std::move(words));
}

std::optional<bool> parse_truth(std::string_view text) {
  const std::string key = name_key(text);
  if (key == "true" || key == "yes" || key == "on" || key == "1") return true;
  if (key == "false" || key == "no" || key == "off" || key == "0") return false;
  return std::nullopt;
}

SettingReader::SettingReader(const LaunchText& text, PlanFile& file)
    : text_(text), file_(file), used_(text.settings.size()) {}

template <typename Visit>
void SettingReader::each(std::string_view keys, Visit visit) const {
  while (!keys.empty()) {
    const std::string_view one = keys.substr(0, keys.find('|'));
    keys.remove_prefix(std::min(one.size() + 1, keys.size()));
    visit(setting_key(one));
  }
}

const LaunchSetting* SettingReader::find(std::string_view keys) const {
  const LaunchSetting* found = nullptr;
  each(keys, [&](const std::string& key) {
    if (found != nullptr) return;
    for (const LaunchSetting& setting : text_.settings) {
      if (setting.key == key) found = &setting;
    }
  });
  return found;
}

bool SettingReader::has(std::string_view keys) const { return find(keys) != nullptr; }

const LaunchSetting* SettingReader::take(std::string_view keys, std::string_view setting) {
  each(keys, [&](const std::string& key) {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (text_.settings[i].key == key) used_[i] = true;
    }
  });
  const LaunchSetting* found = find(keys);
  if (found == nullptr || found->null) return nullptr;
  if (!has_unknown(found->first())) return found;
  const std::string value = readable(found->first());
  if (setting.empty()) {
    assume(fmt::format("{} {}: left out, its value is not in the file", found->shown, value));
  } else if (std::none_of(file_.open.begin(), file_.open.end(),
                          [&](const OpenSetting& open) { return open.name == setting; })) {
    file_.open.push_back({std::string(setting), found->shown, value});
  }
  return nullptr;
}

std::int64_t SettingReader::number(std::string_view keys, std::int64_t otherwise,
                                   std::string_view setting, std::int64_t least) {
  const LaunchSetting* found = take(keys, setting);
  if (found == nullptr) return otherwise;
  std::string text(found->first());
  std::erase(text, '_');  // as Python writes them
  const std::optional<std::int64_t> value = parse_whole(text);
  if (value && *value >= least && *value <= kMostInPlan) return *value;
  refuse(keys, fmt::format("a whole number from {} to {}", least, kMostInPlan));
  return otherwise;
}

double SettingReader::real(std::string_view keys, double otherwise, double least, double most,
                           std::string_view setting) {
  const LaunchSetting* found = take(keys, setting);
  if (found == nullptr) return otherwise;
  const std::optional<double> value = parse_number(found->first());
  if (value && *value >= least && *value <= most) return *value;
  refuse(keys, fmt::format("a number from {} to {}", least, most));
  return otherwise;
}

bool SettingReader::truth(std::string_view keys, bool otherwise, std::string_view setting) {
  const LaunchSetting* found = take(keys, setting);
  if (found == nullptr) return otherwise;
  if (found->values.empty()) return true;
  if (const std::optional<bool> value = parse_truth(found->first())) return *value;
  refuse(keys, "true or false");
  return otherwise;
}

std::string SettingReader::word(std::string_view keys, std::string otherwise,
                                std::string_view setting) {
  const LaunchSetting* found = take(keys, setting);
  return found == nullptr ? std::move(otherwise) : std::string(found->first());
}

std::optional<std::size_t> SettingReader::one_of(std::string_view keys,
                                                 std::span<const std::string_view> words,
                                                 std::string_view setting) {
  const LaunchSetting* found = take(keys, setting);
  if (found == nullptr) return std::nullopt;
  const auto place = std::find(words.begin(), words.end(), found->first());
  if (place != words.end()) return static_cast<std::size_t>(place - words.begin());
  refuse(keys, fmt::format("one of {}", fmt::join(words, ", ")));
  return std::nullopt;
}

DispatcherKind SettingReader::dispatcher(std::string_view keys, std::string_view usual) {
  const std::string word = this->word(keys, std::string(usual), "dispatcher");
  if (word.empty() || word == usual) return DispatcherKind::kUsual;
  const std::optional<DispatcherKind> kind = parse_dispatcher(word);
  if (!kind) unmodelled(keys, "the software's usual dispatcher");
  return kind.value_or(DispatcherKind::kUsual);
}

void SettingReader::refuse(std::string_view keys, std::string_view expected) {
  if (error_) return;
  const LaunchSetting* found = find(keys);
  if (found == nullptr) {
    error_ = bad_value(text_.where, keys.substr(0, keys.find('|')), expected, "nothing");
    return;
  }
  const std::string where =
      found->line > 0 ? fmt::format("{}:{}", text_.where, found->line) : text_.where;
  error_ = bad_value(where, found->shown, expected,
                     found->values.empty() ? "nothing" : readable(found->first()));
}

void SettingReader::fail(Diagnostic problem) {
  if (!error_) error_ = std::move(problem);
}

void SettingReader::unmodelled(std::string_view keys, std::string_view instead) {
  const LaunchSetting* found = find(keys);
  const std::string words =
      found == nullptr ? std::string(keys.substr(0, keys.find('|'))) : setting_words(*found);
  add_once(file_.unmodelled, fmt::format("{}: {}", words, instead));
}

void SettingReader::assume(std::string words) { add_once(file_.assumed, std::move(words)); }

std::optional<Diagnostic> SettingReader::finish(const LauncherNames& names) {
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const LaunchSetting& setting = text_.settings[i];
    const std::string_view instead = names.instead_of(setting);
    if (!instead.empty()) {
      add_once(file_.unmodelled, fmt::format("{}: {}", setting_words(setting), instead));
    } else if (used_[i]) {
      add_once(file_.used, readable(setting.shown));
    } else if (names.ignored(setting.key)) {
      add_once(file_.ignored, readable(setting.shown));
    } else {
      add_once(file_.unknown, readable(setting.shown));
    }
  }
  return error_;
}

}  // namespace flopcast::parallel
