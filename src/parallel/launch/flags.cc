// Settings of a command's words.
#include <algorithm>
#include <cctype>

#include "parallel/launch/text.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

bool is_flag(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") &&
         std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

/// What a launcher such as torchrun starts, after its own flags.
bool is_program(std::string_view word) { return word.ends_with(".py"); }

/// Whether a word holds several: "--fp8-format hybrid", or options that a script passes to another as one
/// argument. Values with blanks hold no flag.
bool holds_flags(std::string_view word) {
  if (is_flag(word)) return word.find_first_of(" \t\n") < word.find('=');
  return word.find(" --") != std::string_view::npos;
}

std::vector<std::string> apart(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    if (!holds_flags(word)) {
      all.push_back(word);
      continue;
    }
    for (std::string& part : shell_words(word)) all.push_back(std::move(part));
  }
  return all;
}

/// "a.b=c", also with Hydra's '+' before it.
std::optional<LaunchSetting> override_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  std::string_view name = word.substr(0, equals);
  while (name.starts_with('+')) name.remove_prefix(1);
  const auto is_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '/' || c == '@';
  };
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0 ||
      !std::all_of(name.begin(), name.end(), is_name)) {
    return std::nullopt;
  }
  const std::string_view value = word.substr(equals + 1);
  const bool null = value == "null" || value == "None" || value == "~";
  LaunchSetting setting{setting_key(name), {}, std::string(name), 0, null};
  if (!null) setting.values.emplace_back(value);
  return setting;
}

}  // namespace

std::string setting_key(std::string_view text) {
  std::string key(text);
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

LaunchSetting flag_setting(std::string_view name, std::vector<std::string> values) {
  return {setting_key(name), std::move(values), "--" + std::string(name), 0, false};
}

LaunchSettings command_settings(const std::vector<std::string>& given, CommandStyle style) {
  LaunchSettings settings;
  for (const std::string& word : apart(given)) {
    if (is_flag(word)) {
      const std::size_t equals = word.find('=');
      LaunchSetting flag = flag_setting(std::string_view(word).substr(2, equals - 2));
      if (equals != std::string::npos) flag.values.push_back(word.substr(equals + 1));
      settings.push_back(std::move(flag));
      continue;
    }
    if (style == CommandStyle::kOverrides) {
      if (std::optional<LaunchSetting> setting = override_of(word)) {
        settings.push_back(std::move(*setting));
        continue;
      }
    }
    if (is_program(word)) settings.push_back({});  // what follows belongs to no launcher's flag
    if (!settings.empty() && !settings.back().key.empty()) settings.back().values.push_back(word);
  }
  std::erase_if(settings, [](const LaunchSetting& setting) { return setting.key.empty(); });
  return settings;
}

}  // namespace flopcast::parallel
