// catalog/training/launches.toml, read once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/toml_file.h"
#include "measured/training/launches.h"

namespace flopcast::measured {

/// Who publishes: any of these tells.
struct Publisher {
  std::vector<std::string> repos, frameworks, architectures;
};

/// What a rule asks of a run; what is empty asks nothing.
struct LaunchMatch {
  std::string publisher;
  std::vector<std::string> repos, sets, tasks;
  std::vector<std::string> models, models_not;  ///< how their names begin
  std::vector<std::string> chips, architectures, software, precisions, precisions_not;
  std::vector<std::pair<std::string, std::string>> says;  ///< of which text, which words
  int from = 0, to = 0;                                   ///< months, both inclusive
  std::optional<bool> compiled;
  std::optional<std::int64_t> zero;
  std::int64_t tp_from = 0, pp_from = 0, vpp_from = 0, vpp_below = 0, micro_batch_from = 0;
  Bytes memory_below;
  bool latent = false;
};

struct LaunchRule {
  LaunchMatch match;
  std::vector<std::string> found_in;  ///< sets of runs; empty: it is a matter of words
  bool told = false;                  ///< holds of runs as well that name their software
  std::string software;               ///< of the list [[software]]
  toml::table set;
};

/// A field that may tell a month, behind a word.
struct MonthRule {
  std::string field, repo, after;
  bool round = false;  ///< it is a round of MLPerf that is told there
};

/// A chip as publishers call and count it.
struct DeviceRule {
  std::string chip;                 ///< of the catalogue
  std::vector<std::string> called;  ///< words that alone name it
  std::string core;                 ///< what programs see, a chip of the catalogue; "": the chip
  unsigned cores = 1;               ///< so many in a chip
  unsigned host = 0;                ///< chips of a host, where some count its cores; 0: none do
};

struct LaunchBook {
  std::vector<LaunchRule> compiled, software, layout, launch;
  std::map<std::string, Publisher, std::less<>> publishers;
  std::vector<MonthRule> months;
  std::vector<DeviceRule> devices;
  int first_round = 0, spring = 0, autumn = 0;  ///< MLPerf's
  std::map<std::string, std::string, std::less<>> set_of_id;
  TableRuns table;
};
/// Errors (kBadInput): a key, a list or a value that is none, with its place.
Result<LaunchBook> parse_launches(std::string_view text, const std::string& where);
/// The catalogue's.
const Result<LaunchBook>& launch_book();

/// Whether a rule holds. @param software of the run, as far as it is known
bool holds(const LaunchBook& book, const LaunchMatch& match, const RunTexts& texts,
           const LaunchFacts& facts, std::string_view software);
/// Puts what a rule says into a launch. @return the key that is none; ""
std::string put(const toml::table& set, Launch& launch);

/// Year and month that a text begins with: "25.04", "2407", "202412", "2025-06"; 0: none.
int leading_month(std::string_view text);

}  // namespace flopcast::measured
