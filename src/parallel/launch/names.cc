#include "parallel/launch/names.h"

#include <algorithm>
#include <array>

#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::parallel {
namespace {

constexpr std::size_t kLauncherCount = static_cast<std::size_t>(Launcher::kMaxtext) + 1;

/// Values that leave a thing as it is without the setting.
bool switched_off(const LaunchSetting& setting) {
  if (setting.null) return true;
  const std::string_view value = setting.first();
  if (value.empty() && !setting.values.empty()) return true;
  return value == "false" || value == "False" || value == "none" || value == "None" ||
         value == "null" || value == "0" || value == "0.0" || value == "off";
}

}  // namespace

const LauncherNames& LauncherNames::of(Launcher launcher) {
  static const auto all = [] {
    std::array<LauncherNames, kLauncherCount> names;
    for (const LauncherFacts& one : launchers()) {
      names[static_cast<std::size_t>(one.launcher)].include(one.name);
    }
    return names;
  }();
  return all[static_cast<std::size_t>(launcher)];
}

LauncherNames LauncherNames::parse(std::string_view text, const std::string& where) {
  LauncherNames names;
  if (const Result<TomlFile> file = parse_toml(text, where, false)) names.add(file->root);
  return names;
}

void LauncherNames::include(std::string_view name) {
  const std::string path = "launch/" + std::string(name) + ".toml";
  for (const CatalogFile& file : catalog_files()) {
    if (file.path != path) continue;
    // Compiled in and read by a test: it cannot fail on a user's machine and work on ours.
    const Result<TomlFile> read = parse_toml(file.text, "catalog/" + path, false);
    if (read) add(read->root);
  }
}

void LauncherNames::add(const toml::table& root) {
  if (const toml::array* others = root["includes"].as_array()) {
    for (const toml::node& other : *others) include(other.value_or(std::string()));
  }
  if (const toml::array* names = root["ignored"]["names"].as_array()) {
    for (const toml::node& node : *names) {
      std::string key = setting_key(node.value_or(std::string()));
      constexpr std::string_view kAll = ".*";
      if (key.ends_with(kAll)) {
        sections_.insert(key.substr(0, key.size() - kAll.size()));
      } else {
        ignored_.insert(std::move(key));
      }
    }
  }
  const toml::table* effects = root["unmodelled"].as_table();
  if (effects == nullptr) return;
  for (const auto& [name, instead] : *effects) {
    if (name == "source") continue;
    const std::string_view text = name.str();
    const std::size_t blank = text.find(' ');
    Effect effect{std::string(blank == std::string_view::npos ? "" : text.substr(blank + 1)),
                  instead.value_or(std::string())};
    effects_.emplace(setting_key(text.substr(0, blank)), std::move(effect));
  }
}

bool LauncherNames::covered(std::string_view key) const {
  for (std::size_t dot = key.rfind('.'); dot != std::string_view::npos; dot = key.rfind('.')) {
    key = key.substr(0, dot);
    if (sections_.contains(key)) return true;
  }
  return false;
}

bool LauncherNames::ignored(std::string_view key) const {
  // Of an effect with certain values, the others are without.
  return ignored_.contains(key) || effects_.contains(key) || covered(key);
}

std::string_view LauncherNames::instead_of(const LaunchSetting& setting) const {
  const auto [first, last] = effects_.equal_range(setting.key);
  for (auto effect = first; effect != last; ++effect) {
    const std::string& value = effect->second.value;
    const bool holds = value.empty() ? !switched_off(setting) : setting.first() == value;
    if (holds) return effect->second.instead;
  }
  return {};
}

}  // namespace flopcast::parallel
