// Reads a launcher's settings by name: what is asked for is used, the rest is told apart at the end.
//
//   SettingReader reader(text, file);
//   plan.micro_batch = reader.number("per_device_train_batch_size", 8, "micro_batch");
//   if (reader.truth("bf16", false)) ...
//   if (auto problem = reader.finish(LauncherNames::of(Launcher::kTrl))) return *problem;
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/parallel/files.h"
#include "parallel/launch/names.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {

/// "value of KEY: expected EXPECTED, found FOUND".
Diagnostic bad_value(const std::string& where, std::string_view key, std::string_view expected,
                     std::string_view found);

class SettingReader {
 public:
  SettingReader(const LaunchText& text, PlanFile& file);

  // `keys`: names of one setting, apart by '|', '_' and '-' the same. The first that the text has counts,
  // and of that its last place; all of them are used.
  // `setting`: of plan_settings(): where the value is the caller's ($TP), it is open; without one it is
  // told to be left out, and what holds without it is taken.

  /// Null where the text does not have it, says null, or leaves it to its caller.
  const LaunchSetting* take(std::string_view keys, std::string_view setting = {});
  bool has(std::string_view keys) const;  ///< whether the text has it; nothing is used by that
  std::int64_t number(std::string_view keys, std::int64_t otherwise, std::string_view setting = {},
                      std::int64_t least = 1);
  double real(std::string_view keys, double otherwise, double least, double most,
              std::string_view setting = {});
  /// true, True, yes, on, 1 and their opposites; a flag without a value is true.
  bool truth(std::string_view keys, bool otherwise, std::string_view setting = {});
  std::string word(std::string_view keys, std::string otherwise, std::string_view setting = {});
  /// One of these words, by its place.
  std::optional<std::size_t> one_of(std::string_view keys, std::span<const std::string_view> words,
                                    std::string_view setting = {});

  /// Who sends tokens to experts; the software's usual way where the text does not say, or says `usual`. Others are told not to
  /// be modelled.
  DispatcherKind dispatcher(std::string_view keys, std::string_view usual);

  /// The value is none that the launcher takes: the first such is what finish() returns.
  void refuse(std::string_view keys, std::string_view expected);
  void fail(Diagnostic problem);
  bool failed() const { return error_.has_value(); }
  /// It is read, but not as it is meant: "KEY VALUE: INSTEAD".
  void unmodelled(std::string_view keys, std::string_view instead);
  void assume(std::string words);

  /// Sorts what was not used; the first thing that was refused.
  std::optional<Diagnostic> finish(const LauncherNames& names);

 private:
  template <typename Visit>
  void each(std::string_view keys, Visit visit) const;
  const LaunchSetting* find(std::string_view keys) const;

  const LaunchText& text_;
  PlanFile& file_;
  std::vector<bool> used_;
  std::optional<Diagnostic> error_;
};

/// A setting as messages have it: "--window-size 128".
std::string setting_words(const LaunchSetting& setting);
/// Adds words that are not there yet.
void add_once(std::vector<std::string>& all, std::string words);
/// true of "true", "True", "yes", "on", "1"; false of their opposites.
std::optional<bool> parse_truth(std::string_view text);

}  // namespace flopcast::parallel
