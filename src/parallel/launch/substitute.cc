// What a document leaves to its caller: ${TP} of --plan-args, ${TP:-2} and its kin, ${model.hidden_size} of
// its own keys.
#include <algorithm>
#include <cctype>

#include "base/text/names.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {
namespace {

bool is_name(std::string_view text) {
  const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), in_name);
}

class Substitution {
 public:
  Substitution(const LaunchSettings& settings, const LaunchSite& site)
      : settings_(settings), input_(call_input(site)) {}

  /// A value with what stands in "${...}" filled in; what nobody says stays unknown, under its name.
  /// @param key of the setting: "${.x}" is its neighbour
  std::string fill(std::string_view value, std::string_view key) const {
    std::string out;
    while (!value.empty()) {
      const std::size_t begin = value.find("${");
      const std::size_t end = begin == std::string_view::npos ? begin : value.find('}', begin);
      if (end == std::string_view::npos) return out + std::string(value);
      out += value.substr(0, begin);
      out += one(value.substr(begin + 2, end - begin - 2), key);
      value.remove_prefix(end + 1);
    }
    return out;
  }

 private:
  /// Of what stands between the braces: NAME, NAME:-default, NAME:default, a.key.of.the.document.
  std::string one(std::string_view inside, std::string_view key) const {
    if (inside.starts_with('.')) {
      const std::string_view section = key.substr(0, key.rfind('.') + 1);
      return of_document(std::string(section) + std::string(inside.substr(1)));
    }
    const std::size_t colon = inside.find(':');
    const std::string_view name = trim(inside.substr(0, colon));
    if (!is_name(name)) return of_document(inside);
    const auto known = input_.variables.find(name);
    if (known != input_.variables.end()) return known->second;
    if (colon != std::string_view::npos) {
      std::string_view otherwise = inside.substr(colon + 1);
      if (otherwise.starts_with('-') || otherwise.starts_with('=')) otherwise.remove_prefix(1);
      return std::string(otherwise);
    }
    return of_document(inside);
  }

  std::string of_document(std::string_view path) const {
    const std::string key = setting_key(trim(path));
    for (const LaunchSetting& setting : settings_) {
      const bool plain = setting.first().find("${") == std::string_view::npos;
      if (setting.key == key && setting.values.size() == 1 && plain) return setting.values.front();
    }
    return unknown(trim(path));
  }

  /// What a shell makes of a variable that nobody sets; of other expressions, under a name made of theirs.
  static std::string unknown(std::string_view path) {
    std::string name(path.substr(0, 40));
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    if (!is_name(name)) name.insert(0, "_");
    const ShellRun run = run_shell("value=${" + name + "}", {});
    return run.variables.empty() ? std::string() : run.variables.front().second;
  }

  const LaunchSettings& settings_;
  ShellInput input_;
};

}  // namespace

ShellInput call_input(const LaunchSite& site) {
  ShellInput input;
  for (const std::string& word : shell_words(site.arguments)) {
    const std::size_t equals = word.find('=');
    const bool variable = equals != std::string::npos && equals > 0 && word[0] != '-';
    if (variable) {
      input.variables[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      input.arguments.push_back(word);
    }
  }
  return input;
}

void substitute(LaunchSettings& settings, const LaunchSite& site) {
  const LaunchSettings before = settings;
  const Substitution substitution(before, site);
  for (LaunchSetting& setting : settings) {
    for (std::string& value : setting.values) {
      if (value.find("${") != std::string::npos) value = substitution.fill(value, setting.key);
    }
  }
}

}  // namespace flopcast::parallel
