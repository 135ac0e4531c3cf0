// A sweep for a terminal, and as rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/format.h"
#include "flopcast/base/quantity.h"
#include "flopcast/report/explore.h"
#include "report/mapping/words.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::size_t kMostRows = 60;

std::vector<Table::Column> columns(const ExploreRow& first) {
  std::vector<Table::Column> titles = {{""}};
  for (const auto& [name, value] : first.sweep) titles.push_back({name});
  for (const char* title : {"step", "proof", "utilisation", "price", "power"}) {
    titles.push_back({title});
  }
  titles.push_back({"shape", Align::kLeft});
  titles.push_back({"limited", Align::kLeft});
  return titles;
}

std::string limits_text(const ExploreRow& row) {
  return fmt::format("compute {:.0f} %, memory {:.0f} %, network {:.0f} %", 100 * row.compute_share,
                     100 * row.memory_share, 100 * row.network_share);
}

std::vector<std::string> cells(const ExploreRow& row, bool front) {
  std::vector<std::string> cells = {front ? "*" : ""};
  for (const auto& [name, value] : row.sweep) cells.push_back(value);
  if (!row.fits) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-", "does not fit", ""});
    return cells;
  }
  cells.push_back(time_words(Seconds{row.step_s}));
  cells.push_back(row.exact ? "optimal" : fmt::format("gap {:.2g} %", 100 * row.gap()));
  cells.push_back(percent(row.utilisation));
  cells.push_back(row.price_usd > 0 ? quantity_text(std::round(row.price_usd), UnitKind::kDollars)
                                    : "-");
  cells.push_back(row.power_w > 0 ? quantity_text(std::round(row.power_w), UnitKind::kWatts) : "-");
  cells.push_back(row.shape);
  cells.push_back(limits_text(row));
  return cells;
}

std::string point_words(const ExploreRow& row) {
  std::string words;
  for (const auto& [name, value] : row.sweep) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name, value);
  }
  return words.empty() ? "the only point" : words;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kBestWords = {{
    {"step_s", "fastest"},
    {"utilisation", "highest utilisation"},
    {"flop_per_s_per_usd", "most FLOP/s a dollar"},
    {"flop_per_s_per_w", "most FLOP/s a watt"},
}};

/// A paragraph for each number that a sweep has a best point in.
std::string bests_text(std::span<const ExploreRow> rows) {
  std::string text;
  for (const ExploreBest& best : explore_best(rows)) {
    const ExploreRow& row = rows[best.row];
    const auto words = std::find_if(kBestWords.begin(), kBestWords.end(),
                                    [&](const auto& one) { return one.first == best.measure; });
    text += fmt::format("  {:<22} {}: {}\n", words->second, time_words(Seconds{row.step_s}),
                        point_words(row));
    if (best.equals > 0) {
      text += fmt::format("  {:<22} the cheapest of {} that are equal in this\n", "",
                          counted(best.equals + 1, "point"));
    }
    if (!row.why.empty()) text += fmt::format("  {:<22} {}\n", "", row.why);
  }
  return text;
}

struct CellWriter {
  std::vector<std::string>& cells;
  void operator()(std::string_view, double value) { cells.push_back(exact_number(value)); }
  void operator()(std::string_view, bool value) { cells.emplace_back(value ? "true" : "false"); }
  void operator()(std::string_view, std::uint64_t value) {
    cells.push_back(fmt::format("{}", value));
  }
  void operator()(std::string_view, const std::string& value) { cells.push_back(value); }
};

}  // namespace

std::string explore_text(std::span<const ExploreRow> rows) {
  if (rows.empty()) return "No points.\n";
  const std::vector<bool> front = explore_front(rows);
  const auto fit = static_cast<std::uint64_t>(
      std::count_if(rows.begin(), rows.end(), [](const ExploreRow& r) { return r.fits; }));
  std::string text = fmt::format("{}\n{} of {} fit\n", rows.front().asked, grouped(fit),
                                 counted(rows.size(), "point"));
  text += bests_text(rows);
  Table table(columns(rows.front()));
  const bool all = rows.size() <= kMostRows;
  for (std::size_t i = 0; i < rows.size() && table.size() < kMostRows; ++i) {
    if (all || front[i]) table.add(cells(rows[i], front[i]));
  }
  text += fmt::format("\n{} (*: nothing is faster, cheaper and leaner in power at once)\n",
                      all ? "All points" : "The front");
  return text + table.text();
}

std::string explore_csv(std::span<const ExploreRow> rows) {
  if (rows.empty()) return {};
  std::vector<Table::Column> titles;
  const auto title = [&](std::string_view key, const auto&) {
    titles.push_back({std::string(key)});
  };
  for (const auto& [name, value] : rows.front().sweep) titles.push_back({name});
  visit_explore_head(rows.front(), title);
  visit_explore_answer(rows.front(), title);
  write_explore_derived(rows.front(), title);
  titles.push_back({"front"});
  titles.push_back({"problem"});
  Table table(titles);
  const std::vector<bool> front = explore_front(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ExploreRow& row = rows[i];
    std::vector<std::string> line;
    for (const auto& [name, value] : row.sweep) line.push_back(value);
    CellWriter write{line};
    visit_explore_head(row, write);
    const std::size_t answers = line.size();
    visit_explore_answer(row, write);
    write_explore_derived(row, write);
    if (!row.fits) std::fill(line.begin() + static_cast<std::ptrdiff_t>(answers), line.end(), "");
    line.emplace_back(front[i] ? "true" : "false");
    line.push_back(row.problem);
    table.add(std::move(line));
  }
  return table.csv();
}

}  // namespace flopcast
