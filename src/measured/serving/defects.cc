// What is wrong with which measured point. Every rule rests on what rows tell (dates, versions, layouts), on published
// launches, or on rows that contradict each other; none on a forecast.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "flopcast/measured/serving.h"
#include "measured/serving/launches.h"

namespace flopcast {
namespace {

using namespace measured;

/// What rows say of each other comes before and after what one tells by itself (catalog/serving/launches.toml).
constexpr ServingRule kFirst[] = {
    {"duplicate", "the same times stand in another table, for the same lengths and users"},
    {"drafts",
     "the launch drafted tokens (MTP), or may have, and the row does not tell: launches at that "
     "date and version did always, or another row of the same deployment and users has a lower "
     "TPOT and a higher TTFT"}};
constexpr ServingRule kNotTold[] = {
    {"workers-not-told",
     "disaggregated, and how many workers computed prompts or answers is not told"},
    {"users-not-told", "how many users there were is not told"},
    {"server-limit",
     "TPOT falls with load while TTFT explodes: the server took fewer requests than there were "
     "users, by a setting that is not told"}};

std::string percent(double share) { return fmt::format("{:.4g} %", 100 * share); }

using Points = std::vector<ServingPoint*>;

/// DeepSeek-R1 and V3 are one model of two names, and tables exchange them.
std::string family_of(const ServingPoint& point) {
  std::string model = plain_model(point.model);
  return model == "deepseek-r1" ? "deepseek-v3" : model;
}

auto degrees_of(const ServingLayout& l) { return std::tuple(l.tp, l.dp, l.ep, l.pp); }

/// What must be equal for two rows to be of the same engine on the same chips.
auto deployment_of(const ServingPoint& p) {
  return std::tuple(p.engine, family_of(p), p.chip, p.precision, p.disaggregated,
                    degrees_of(p.layout), degrees_of(p.decode), p.prefill_workers,
                    p.decode_workers);
}

bool nearly_equal(Seconds a, Seconds b) {
  const double same = contradiction_limits().same;
  return std::abs(a.value - b.value) <= same * std::max(a.value, b.value);
}

/// Which of two equal rows tells more comes first.
int told_of(const ServingPoint& p) {
  return (p.decode_workers > 0 ? 4 : 0) + (p.known_protocol ? 2 : 0) + (p.version.empty() ? 0 : 1);
}

void mark_duplicates(const Points& points) {
  std::map<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>, Points>
      alike;
  for (ServingPoint* p : points) {
    alike[{p->engine, p->chip, p->input, p->output, p->users}].push_back(p);
  }
  for (auto& [key, group] : alike) {
    std::ranges::stable_sort(group, std::greater<>{},
                             [](const ServingPoint* p) { return told_of(*p); });
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t k = 0; k < i && group[i]->excluded.empty(); ++k) {
        const ServingPoint &a = *group[k], &b = *group[i];
        const bool same = a.disaggregated == b.disaggregated && nearly_equal(a.ttft, b.ttft) &&
                          nearly_equal(a.tpot, b.tpot);
        if (same) group[i]->excluded = "duplicate";
      }
    }
  }
}

/// Where launches of that version may have drafted: of two rows of a deployment the quicker in TPOT and slower in TTFT did,
/// and the other did not. A row alone cannot tell.
void mark_drafts(const Points& points) {
  std::map<
      std::tuple<std::string, std::string, std::string, std::string, std::int64_t, std::int64_t,
                 std::int64_t, std::tuple<unsigned, unsigned, unsigned, unsigned>>,
      Points>
      open;
  for (ServingPoint* p : points) {
    if (!p->excluded.empty() || p->disaggregated) continue;
    const LaunchedDrafts drafts = launched_drafts(*p);
    if (drafts == LaunchedDrafts::kAlways) p->excluded = "drafts";
    if (drafts != LaunchedDrafts::kEither) continue;
    open[{p->engine, p->version, p->chip, p->precision, p->input, p->output, p->users,
          degrees_of(p->layout)}]
        .push_back(p);
  }
  const double repeats = contradiction_limits().repeats;
  for (auto& [key, group] : open) {
    const auto least = std::ranges::min(group, {}, [](const ServingPoint* p) { return p->tpot; });
    for (ServingPoint* p : group) {
      const bool plain = p->tpot.value > repeats * least->tpot.value && p->ttft < least->ttft;
      if (!plain) p->excluded = "drafts";
    }
  }
}

/// Rules on a row by itself.
std::string_view defect_of(const ServingPoint& p) {
  if (const std::string_view launched = launched_defect(p); !launched.empty()) return launched;
  if (p.disaggregated && (p.prefill_workers == 0 || p.decode_workers == 0)) {
    return "workers-not-told";
  }
  return p.users == 0 ? "users-not-told" : "";
}

/// FLOP/s that the row's throughput takes, as a share of its chips' peak; 0 where the catalogue lacks model or chip.
double share_of_peak(const ServingPoint& p) {
  const double tokens = p.throughput(p.ttft, p.tpot);
  if (tokens <= 0) return 0;
  const Result<Model> model = load_model(plain_model(p.model));
  const MeasuredSystem system = system_of(p.chip);
  const Result<Cluster> cluster = Catalog::builtin().cluster("1 x " + system.node);
  if (!model || !cluster) return 0;
  const DataType type = p.precision == "bf16"  ? DataType::kBf16
                        : p.precision == "fp4" ? DataType::kFp4
                                               : DataType::kFp8;
  const double peak = cluster->chip.matrix_rate(type).value;
  const auto active = static_cast<double>(count_parameters(*model).active);
  const double per_answer = static_cast<double>(p.input + p.output) / static_cast<double>(p.output);
  return peak > 0 ? 2 * active * tokens * per_answer / peak : 0;
}

/// One such row taints its table: the others count users alike.
void mark_several_replicas(const Points& points) {
  const double most = contradiction_limits().most_of_peak;
  std::map<std::tuple<std::string, std::string, std::string>, Points> tables;
  for (ServingPoint* p : points) {
    const bool asked = p->excluded.empty() && !p->disaggregated && !p->known_protocol;
    if (asked) tables[{p->origin, p->engine, p->model}].push_back(p);
  }
  for (auto& [key, table] : tables) {
    const bool tainted = std::ranges::any_of(
        table, [most](const ServingPoint* p) { return share_of_peak(*p) > most; });
    for (ServingPoint* p : table) {
      if (tainted) p->excluded = "users-of-several-replicas";
    }
  }
}

void mark_server_limits(const Points& points) {
  std::map<std::tuple<std::int64_t, std::int64_t, decltype(deployment_of(*points[0]))>, Points>
      loads;
  for (ServingPoint* p : points) {
    if (!p->excluded.empty() || p->disaggregated) continue;
    loads[{p->input, p->output, deployment_of(*p)}].push_back(p);
  }
  const ContradictionLimits& limits = contradiction_limits();
  for (auto& [key, group] : loads) {
    for (ServingPoint* p : group) {
      const bool limited = std::ranges::any_of(group, [&](const ServingPoint* fewer) {
        const double more = static_cast<double>(p->users) / static_cast<double>(fewer->users);
        const double most = more >= limits.fewer_users ? limits.stays : limits.falls;
        return more > 1 && p->tpot.value < most * fewer->tpot.value &&
               p->ttft.value > limits.explodes * more * fewer->ttft.value;
      });
      if (limited) p->excluded = "server-limit";
    }
  }
}

void mark_twins(const Points& points) {
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t,
                      decltype(deployment_of(*points[0]))>,
           Points>
      twins;
  for (ServingPoint* p : points) {
    if (!p->excluded.empty()) continue;
    twins[{p->version, p->input, p->output, p->users, deployment_of(*p)}].push_back(p);
  }
  const double twins_apart = contradiction_limits().twins;
  const auto apart = [twins_apart](const Points& group, auto member) {
    const auto [least, most] = std::ranges::minmax(group, {}, member);
    return std::invoke(member, most).value > twins_apart * std::invoke(member, least).value;
  };
  for (auto& [key, group] : twins) {
    const bool contradict = apart(group, [](const ServingPoint* p) { return p->ttft; }) ||
                            apart(group, [](const ServingPoint* p) { return p->tpot; });
    for (ServingPoint* p : group) {
      if (contradict) p->excluded = "twins-apart";
    }
  }
}

}  // namespace

std::span<const ServingRule> serving_rules() {
  static const std::string several = fmt::format(
      "the table has rows above {} of the chips' peak FLOP/s: users were counted over several "
      "replicas",
      percent(contradiction_limits().most_of_peak));
  static const std::string apart =
      fmt::format("rows of the same deployment, version, lengths and users are more than {} apart",
                  percent(contradiction_limits().twins - 1));
  static const std::vector<ServingRule> rules = [] {
    std::vector<ServingRule> all(std::begin(kFirst), std::end(kFirst));
    const std::vector<ServingRule> by_row = defect_rules();
    all.insert(all.end(), by_row.begin(), by_row.end());
    all.push_back({"users-of-several-replicas", several});
    all.insert(all.end(), std::begin(kNotTold), std::end(kNotTold));
    all.push_back({"twins-apart", apart});
    return all;
  }();
  return rules;
}

void label_defects(std::vector<ServingPoint>& points) {
  Points all;
  for (ServingPoint& point : points) {
    point.excluded.clear();
    all.push_back(&point);
  }
  if (all.empty()) return;
  mark_duplicates(all);
  mark_drafts(all);
  for (ServingPoint* p : all) {
    if (p->excluded.empty()) p->excluded = defect_of(*p);
  }
  mark_several_replicas(all);
  mark_server_limits(all);
  mark_twins(all);
}

}  // namespace flopcast
