// Many sets, or many models of one set, a row each.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "flopcast/report/sets.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Align::kLeft;

std::string plain_percent(double ratio) { return fmt::format("{:.2f} %", ratio * 100); }
std::string points(double ratio) { return fmt::format("{:.1f}", ratio * 100); }

std::uint64_t contradicted(const SetResult& set) {
  std::uint64_t sum = 0;
  for (const EdgeCount& edge : set.edges) sum += edge.contradicted;
  return sum;
}

std::vector<Table::Column> columns(const std::string& first) {
  return {{first, kLeft}, {"ranks"},      {"host mean"},    {"worst"},     {"GPU mean"},
          {"worst"},      {"starts off"}, {"overlap"},      {"exp. comm"}, {"exp. compute"},
          {"idle"},       {"late"},       {"edges dropped"}};
}

std::vector<std::string> row(const std::string& name, const SetResult& set) {
  const Quality& q = set.summary.quality;
  const bool host = q.steps > 0;
  const bool gpu = q.gpu_steps > 0;
  return {name,
          std::to_string(set.summary.ranks.size()),
          host ? plain_percent(q.mean_abs_error) : "-",
          host ? plain_percent(q.max_abs_error) : "-",
          gpu ? plain_percent(q.mean_abs_gpu_error) : "-",
          gpu ? plain_percent(q.max_abs_gpu_error) : "-",
          gpu ? fmt::format("{:.3f} %", q.start_error_median * 100) : "-",
          points(q.overlapped),
          points(q.exposed_communication),
          points(q.exposed_compute),
          points(q.idle),
          plain_percent(q.late_share),
          grouped(contradicted(set))};
}

std::string notes(const std::vector<SetResult>& sets) {
  std::string text;
  for (const SetResult& set : sets) {
    if (set.failure) text += fmt::format("  {}: not replayed: {}\n", set.name, set.failure->text());
    for (const std::string& why : set.damage) {
      text += fmt::format("  {}: damaged recording, left out of the mean: {}\n", set.name, why);
    }
    for (const Diagnostic& d : set.unreadable) {
      text += fmt::format("  {}: not read: {}\n", set.name, d.text());
    }
  }
  return text.empty() ? text : "\n" + text;
}

constexpr const char* kLegend =
    "|error| of host and GPU steps; overlap to idle: largest difference of a share of the window, "
    "in "
    "points\n";

}  // namespace

std::string sets_text(const std::vector<SetResult>& sets) {
  if (sets.empty()) return {};
  Table table(columns("set"));
  for (const SetResult& set : sets) {
    if (!set.failure) table.add(row(set.name + (set.damage.empty() ? "" : " (damaged)"), set));
  }
  const Overall all = summarise_sets(sets);
  const auto mode = std::find_if(sets.begin(), sets.end(), [](auto& s) { return !s.failure; });
  std::string text;
  if (mode != sets.end()) {
    text += fmt::format("lags: {}, model: {}\n", lag_mode_name(mode->lags),
                        baseline_name(mode->baseline));
  }
  text += kLegend + table.text();
  const auto measured = [](std::uint64_t sets_with, double error) {
    return sets_with > 0 ? plain_percent(error) : "-";
  };
  text += fmt::format("\n{}: mean of means host {}, GPU {}; worst step host {}, GPU {}{}{}\n",
                      counted(all.sets, "set"), measured(all.host_sets, all.mean_abs_error),
                      measured(all.gpu_sets, all.mean_abs_gpu_error),
                      measured(all.host_sets, all.max_abs_error),
                      measured(all.gpu_sets, all.max_abs_gpu_error),
                      all.damaged > 0 ? fmt::format("; {} damaged", all.damaged) : "",
                      all.failed > 0 ? fmt::format("; {} not replayed", all.failed) : "");
  return text + notes(sets);
}

std::string models_text(const std::vector<SetResult>& models) {
  if (models.empty()) return {};
  Table table(columns("model"));
  for (const SetResult& model : models) {
    const char* name = baseline_name(model.baseline);
    table.add(row(name, model));
  }
  return fmt::format("{}: models side by side, lags: {}\n{}", models.front().name,
                     lag_mode_name(models.front().lags), kLegend) +
         table.text() + notes(models);
}

}  // namespace flopcast
