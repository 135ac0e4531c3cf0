// Names of settings that a launcher takes and no field of a plan stands for: catalog/launch/*.toml.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/toml.h"
#include "flopcast/parallel/launch.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {

class LauncherNames {
 public:
  /// Those of catalog/launch/<name>.toml and of the files that it includes; none where it has no file.
  static const LauncherNames& of(Launcher launcher);
  /// The same of a text, for tests. Names that are no such file are included as nothing.
  static LauncherNames parse(std::string_view text, const std::string& where);

  /// Whether the setting is known to be without meaning for time and memory of a step.
  bool ignored(std::string_view key) const;
  /// What is taken instead of a setting that changes time or memory and is not modelled; empty: it is
  /// none, or not with this value.
  std::string_view instead_of(const LaunchSetting& setting) const;

 private:
  struct Effect {
    std::string value;  ///< empty: any but what switches it off
    std::string instead;
  };
  void add(const toml::table& root);
  void include(std::string_view name);
  bool covered(std::string_view key) const;

  std::set<std::string, std::less<>> ignored_, sections_;
  std::multimap<std::string, Effect, std::less<>> effects_;
};

}  // namespace flopcast::parallel
