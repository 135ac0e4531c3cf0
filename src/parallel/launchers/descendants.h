// Launchers that start Megatron-LM under names and defaults of their own: their settings in its names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/launchers/texts.h"

namespace flopcast::parallel {

/// A launcher's name, and Megatron-LM's flag that means the same.
struct Rename {
  std::string_view own, megatron;  ///< own: dotted, as settings have it
};

class Translator {
 public:
  explicit Translator(const LaunchText& text) : text_(text) {}

  /// Settings of a section ("model.") under their last names; "" takes those without a dot.
  void section(std::string_view prefix);
  void rename(std::span<const Rename> names);
  /// The setting under Megatron-LM's name, its value another where one is given. It stays shown as it is.
  void as(const LaunchSetting& setting, std::string_view megatron,
          std::vector<std::string> values = {});
  /// What the launcher does where nothing of these (apart by '|') was set: a default, which is not shown.
  void otherwise(std::string_view keys, std::string_view megatron,
                 std::vector<std::string> values = {});

  /// The last setting of this name in the text, null where it has none or says null.
  const LaunchSetting* find(std::string_view key) const;
  std::string word(std::string_view key, std::string_view otherwise = {}) const;
  /// It is read by the launcher's reader itself.
  void used(const LaunchSetting& setting);

  /// What Megatron-LM reads: words for true are flags, those for false are none; what nobody took is left to
  /// the launcher's names.
  LaunchText take();

 private:
  bool taken(const LaunchSetting& setting) const;

  const LaunchText& text_;
  LaunchSettings out_;
  std::vector<const LaunchSetting*> taken_;
};

/// Attributes that Megatron-LM's parser fills have other names than their flags: add_bias_linear False is
/// --disable-bias-linear, fp8 is --fp8-format.
void attributes_to_flags(LaunchSettings& settings);

/// The flags that Megatron-LM's block of arguments in a log stands for: "  tp ....... 2". Empty: the text
/// has no such block.
LaunchSettings logged_arguments(std::string_view bytes);

}  // namespace flopcast::parallel
