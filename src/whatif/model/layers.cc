#include "whatif/model/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "flopcast/trace.h"

namespace flopcast::whatif {
namespace {

using replaying::kNoIndex;
using replaying::RankModel;

using Items = std::span<const LayerItem>;

/// Shorter periods are lists of tensors (optimizers) or pairs of a product and its bias.
constexpr std::uint32_t kShortestUnit = 4;
/// Shorter units must hold several products.
constexpr std::uint32_t kShortUnit = 8;
/// Share of the shorter unit's kernels that two kinds of layers of one model have in common.
constexpr double kSameModel = 0.4;
/// A model of layers has two kinds of them, at most: more are blocks that grow from stage to stage.
constexpr std::size_t kMostKinds = 2;
/// Likeness of two units that makes them one.
constexpr double kSameUnit = 0.95;
/// Likeness of a stretch to a layer beside it that makes it another layer.
constexpr double kSameLayer = 0.6;

bool is_product(const LayerItem& item) {
  return item.work->kind == KernelKind::kGemm || item.work->kind == KernelKind::kAttention;
}

std::uint32_t products(Items items) {
  return static_cast<std::uint32_t>(std::count_if(items.begin(), items.end(), is_product));
}

std::uint32_t attentions(Items items) {
  return static_cast<std::uint32_t>(std::count_if(items.begin(), items.end(), [](auto& item) {
    return item.work->kind == KernelKind::kAttention;
  }));
}

Time time_of(Items items) {
  Time sum;
  for (const LayerItem& item : items) sum += item.time;
  return sum;
}

std::vector<std::uint32_t> item_tokens(Items items, Level level) {
  std::vector<std::uint32_t> tokens;
  tokens.reserve(items.size());
  for (const LayerItem& item : items) tokens.push_back(token_at(*item.work, level));
  return tokens;
}

/// Layers of one sequence at one level.
class LayerFinder {
 public:
  LayerFinder(Items items, Level level, bool whole_window)
      : items_(items), level_(level), whole_window_(whole_window) {
    tokens_ = item_tokens(items, level);
    products_known_ = products(items) > 0;
  }

  LayerFinding run() {
    found_.level = level_;
    for (Repeat& run : find_repeats(tokens_, kShortestUnit)) {
      if (is_layerlike(run)) runs_.push_back(run);
    }
    if (runs_.empty()) return refuse("no repeat of kernels that could be layers");
    choose_main();
    if (const LayerFinding* inner = look_inside()) return *inner;
    if (whole_window_ && nothing_else()) {
      return refuse(
          fmt::format("{} repeats of {} kernels are all there is, and no step is marked: "
                      "steps or layers",
                      main_.copies, main_.period));
    }
    keep_first_of_several();
    if (!keep_same_model()) return std::move(found_);
    for (Repeat& run : runs_) settle_phase(run);
    collect();
    if (!explain_rest()) return std::move(found_);
    if (!divide_units()) return std::move(found_);
    tell();
    return std::move(found_);
  }

 private:
  Items unit_of(const Repeat& run) const { return items_.subspan(run.start, run.period); }
  std::span<const std::uint32_t> tokens(LayerSpan s) const {
    return std::span(tokens_).subspan(s.first, s.last - s.first);
  }

  LayerFinding refuse(std::string why) {
    found_.layers.clear();
    found_.evidence = std::move(why);
    return found_;
  }

  bool is_layerlike(const Repeat& run) const {
    const std::uint32_t count = products(unit_of(run));
    if (run.period >= kShortUnit) return count > 0 || !products_known_;
    return count >= 2;
  }

  Time time_of_run(const Repeat& run) const {
    return time_of(items_.subspan(run.start, run.end() - run.start));
  }

  void choose_main() {
    main_ = runs_.front();
    for (const Repeat& run : runs_) {
      if (time_of_run(run) > time_of_run(main_)) main_ = run;
    }
  }

  /// A model has a head, or layers of another kind, besides its layers; a step has all of them in it.
  bool nothing_else() const {
    return products(items_.first(main_.start)) + products(items_.subspan(main_.end())) == 0;
  }

  /// The main repeat may be the whole model several times over: then its unit holds layers itself.
  /// Experts of one layer repeat, too, but without attention, or in a small part of the layer.
  const LayerFinding* look_inside() {
    if (main_.period < 2 * kShortUnit) return nullptr;
    const Items unit = unit_of(main_);
    const Repeat within =
        longest_repeat(std::span(tokens_).subspan(main_.start, main_.period), kShortUnit);
    if (within.copies < 2) return nullptr;
    const Items inner = unit.subspan(within.start, within.period);
    if (products(inner) == 0 && products_known_) return nullptr;
    const Items all = unit.subspan(within.start, within.end() - within.start);
    if (attentions(unit) > 0 ? attentions(inner) == 0
                             : 10 * time_of(all).ps < 6 * time_of(unit).ps) {
      return nullptr;
    }
    // A phase of the main repeat at which no layer is cut: search two copies, take the middle.
    inner_ = LayerFinder(first_whole(within), level_, false).run();
    inner_.repeats = main_.copies;
    for (LayerSpan& s : inner_.layers) {
      s.first += inner_from_;
      s.last += inner_from_;
    }
    if (!inner_.layers.empty()) {
      inner_.evidence += fmt::format("; the whole {} times over", main_.copies);
    }
    return &inner_;
  }

  /// One copy of the main unit that starts before its inner repeat, as far away from it as can be.
  Items first_whole(const Repeat& within) {
    const std::uint32_t around = main_.period - (within.end() - within.start);
    const std::uint32_t start = main_.start + within.start;
    inner_from_ = start - std::min(start - main_.start, around / 2);
    return items_.subspan(inner_from_,
                          std::min<std::size_t>(main_.period, items_.size() - inner_from_));
  }

  /// The same layers as often again, with something else between: the model several times over, with
  /// shapes that drift in between. What is after the first of them is no part of it.
  void keep_first_of_several() {
    const std::vector<std::uint32_t> main = item_tokens(unit_of(main_), Level::kName);
    std::vector<Repeat> alike;
    for (const Repeat& run : runs_) {
      const std::vector<std::uint32_t> unit = item_tokens(unit_of(run), Level::kName);
      if (run.copies == main_.copies && likeness(unit, main) >= kSameUnit) alike.push_back(run);
    }
    if (alike.size() < 2) return;
    for (std::size_t i = 1; i < alike.size(); ++i) {
      const std::uint32_t gap = alike[i].start - alike[i - 1].end();
      if (gap == 0 || (gap * 10 >= main_.period * 7 && gap * 10 <= main_.period * 13)) return;
    }
    found_.repeats = static_cast<std::uint32_t>(alike.size());
    main_ = alike.front();
    items_ = items_.first(alike[1].start);
    std::erase_if(runs_, [this](const Repeat& run) { return run.end() > items_.size(); });
  }

  /// Drops repeats that are small beside the main one; two large ones with little in common are two
  /// models.
  bool keep_same_model() {
    const std::vector<std::uint32_t> main = item_tokens(unit_of(main_), Level::kName);
    std::vector<Repeat> kept;
    for (const Repeat& run : runs_) {
      const std::vector<std::uint32_t> unit = item_tokens(unit_of(run), Level::kName);
      const double common = likeness(unit, main) *
                            static_cast<double>(std::max(unit.size(), main.size())) /
                            static_cast<double>(std::min(unit.size(), main.size()));
      if (run == main_ || common >= kSameModel) {
        kept.push_back(run);
      } else if (4 * time_of_run(run).ps > time_of_run(main_).ps) {
        refuse(
            fmt::format("two kinds of repeats with little in common: {} x {} kernels and {} x {}",
                        main_.copies, main_.period, run.copies, run.period));
        return false;
      }
    }
    runs_ = std::move(kept);
    if (runs_.size() <= kMostKinds) return true;
    refuse(fmt::format("{} kinds of blocks that repeat, none of which is the layer of the model",
                       runs_.size()));
    return false;
  }

  /// Tokens around a run often agree with its unit: of the possible starts, the one at which parts of
  /// the model begin, else where a norm begins.
  void settle_phase(Repeat& run) const {
    std::uint32_t best = 0, most = 0;
    for (std::uint32_t shift = 0; shift <= run.extra; ++shift) {
      const std::uint32_t score = phase_score(run, shift);
      if (score > most) {
        most = score;
        best = shift;
      }
    }
    run.start += best;
    run.extra -= best;
  }

  std::uint32_t phase_score(const Repeat& run, std::uint32_t shift) const {
    std::uint32_t score = 0;
    for (std::uint32_t c = 0; c <= run.copies; ++c) {
      const std::uint32_t at = run.start + shift + c * run.period;
      if (at == 0 || at >= items_.size()) {
        score += 2;
        continue;
      }
      if (items_[at].part != items_[at - 1].part) score += 2;
      const std::uint32_t module = items_[at].work->module;
      if (c < run.copies && module != kNoIndex && module != items_[at - 1].work->module) ++score;
    }
    return score;
  }

  void collect() {
    for (const Repeat& run : runs_) {
      for (std::uint32_t c = 0; c < run.copies; ++c) {
        const std::uint32_t first = run.start + c * run.period;
        found_.layers.push_back({first, first + run.period});
      }
    }
    std::sort(found_.layers.begin(), found_.layers.end(),
              [](const LayerSpan& a, const LayerSpan& b) { return a.first < b.first; });
  }

  /// What is between, before and after the repeats: another layer if it is like its neighbour;
  /// else it must not hold as many products as a layer.
  bool explain_rest() {
    std::vector<LayerSpan> all;
    std::uint32_t at = 0;
    for (std::size_t i = 0; i <= found_.layers.size(); ++i) {
      const std::uint32_t until = i < found_.layers.size()
                                      ? found_.layers[i].first
                                      : static_cast<std::uint32_t>(items_.size());
      if (!explain({at, until}, i, all)) return false;
      if (i == found_.layers.size()) break;
      all.push_back(found_.layers[i]);
      at = found_.layers[i].last;
    }
    found_.layers = std::move(all);
    return true;
  }

  bool explain(LayerSpan rest, std::size_t before, std::vector<LayerSpan>& all) {
    if (rest.first == rest.last) return true;
    std::vector<LayerSpan> beside;
    if (before > 0) beside.push_back(found_.layers[before - 1]);
    if (before < found_.layers.size()) beside.push_back(found_.layers[before]);
    const Items items = items_.subspan(rest.first, rest.last - rest.first);
    std::uint32_t fewest = kNoIndex;
    for (const LayerSpan& layer : beside) {
      fewest = std::min(fewest, products(items_.subspan(layer.first, layer.last - layer.first)));
      if (beside.size() == 2 && likeness(tokens(rest), tokens(layer)) >= kSameLayer) {
        all.push_back(rest);
        ++unlike_;
        return true;
      }
    }
    if (!products_known_ || products(items) < std::max(fewest, 1U)) return true;
    if (const auto layer = layer_at_edge(rest, before)) {
      all.push_back(*layer);
      ++unlike_;
      return true;
    }
    refuse(fmt::format("{} x {} kernels repeat, but {} kernels {} hold as many products as a layer",
                       main_.copies, main_.period, rest.last - rest.first,
                       before == 0                      ? "before them"
                       : before == found_.layers.size() ? "after them"
                                                        : "between them"));
    return false;
  }

  /// The first or last layer, a little different from the others: what lies next to the repeats.
  std::optional<LayerSpan> layer_at_edge(LayerSpan rest, std::size_t before) const {
    const bool at_start = before == 0;
    const LayerSpan layer = at_start ? found_.layers.front() : found_.layers.back();
    if (!at_start && before != found_.layers.size()) return std::nullopt;
    const std::uint32_t length = layer.last - layer.first;
    double best = kSameLayer;
    std::optional<LayerSpan> found;
    for (std::uint32_t size = length - length / 4; size <= length + length / 4; ++size) {
      if (size > rest.last - rest.first) break;
      const LayerSpan span = at_start ? LayerSpan{rest.last - size, rest.last}
                                      : LayerSpan{rest.first, rest.first + size};
      const double like = likeness(tokens(span), tokens(layer));
      if (like <= best) continue;
      best = like;
      found = span;
    }
    if (!found) return std::nullopt;
    const std::uint32_t left = products(items_.subspan(rest.first, rest.last - rest.first)) -
                               products(items_.subspan(found->first, found->last - found->first));
    return left < products(items_.subspan(layer.first, length)) ? found : std::nullopt;
  }

  /// A unit may be two layers of different kinds: then it has the same way to attention twice.
  bool divide_units() {
    std::vector<LayerSpan> divided;
    for (const LayerSpan& layer : found_.layers) {
      const std::uint32_t size = layer.last - layer.first;
      const std::uint32_t kinds = attentions(items_.subspan(layer.first, size));
      if (kinds < 2) {
        divided.push_back(layer);
        continue;
      }
      const std::vector<std::uint32_t> cuts = cuts_of(layer);
      if (cuts.size() != kinds) {  // attention in one layer several times: chunks, cross-attention
        divided.push_back(layer);
        continue;
      }
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        divided.push_back({cuts[i], i + 1 < cuts.size() ? cuts[i + 1] : layer.last});
      }
      divided_ = kinds;
    }
    found_.layers = std::move(divided);
    return true;
  }

  /// Where the layers in a unit begin: so far before each attention as the first attention is from
  /// the start, if the same kernels lead there, with products after attention as well.
  std::vector<std::uint32_t> cuts_of(LayerSpan layer) const {
    std::vector<std::uint32_t> cuts;
    std::uint32_t lead = kNoIndex;
    for (std::uint32_t i = layer.first; i < layer.last; ++i) {
      if (items_[i].work->kind != KernelKind::kAttention) continue;
      if (lead == kNoIndex) lead = i - layer.first;
      if (lead < 2 || i < layer.first + lead) return {};
      const std::uint32_t cut = i - lead;
      if (!cuts.empty() && cut < cuts.back() + lead + 3) return {};
      for (std::uint32_t k = 0; k < lead; ++k) {
        if (items_[cut + k].work->kernel != items_[layer.first + k].work->kernel) return {};
      }
      cuts.push_back(cut);
    }
    for (std::size_t i = 0; i < cuts.size(); ++i) {  // as much behind attention as an FFN holds
      const std::uint32_t until = i + 1 < cuts.size() ? cuts[i + 1] : layer.last;
      const std::uint32_t from = cuts[i] + lead;
      if (products(items_.subspan(from, until - from)) < 3) return {};
    }
    return cuts;
  }

  void tell() {
    std::string text;
    for (const Repeat& run : runs_) {
      text += fmt::format("{}repeat of {} {}, {} times", text.empty() ? "" : "; ", run.period,
                          level_ == Level::kKernel ? "kernels"
                          : level_ == Level::kName ? "kernels by name"
                                                   : "kernels by operator",
                          run.copies);
    }
    if (divided_ > 1) text += fmt::format("; {} layers in each", divided_);
    if (found_.repeats > 1) text += fmt::format("; the whole {} times over", found_.repeats);
    if (unlike_ > 0) text += fmt::format("; {} more a little different", unlike_);
    found_.evidence = std::move(text);
  }

  Items items_;
  Level level_;
  bool whole_window_;
  bool products_known_ = false;
  std::vector<std::uint32_t> tokens_;
  std::vector<Repeat> runs_;
  Repeat main_;
  LayerFinding found_, inner_;
  std::uint32_t inner_from_ = 0;
  std::uint32_t unlike_ = 0, divided_ = 0;
};

/// Rows of modules, by class.
struct ModuleClass {
  std::set<std::uint32_t> numbers;
  Time time;  ///< of rows that lie in no other of the class
};

}  // namespace

std::uint32_t token_at(const Work& work, Level level) {
  return level == Level::kKernel ? work.token : level == Level::kName ? work.kernel : work.op;
}

std::vector<std::uint32_t> tokens_of(const std::vector<Work>& works,
                                     std::span<const std::uint32_t> of, Level level) {
  std::vector<std::uint32_t> tokens;
  tokens.reserve(of.size());
  for (const std::uint32_t w : of) tokens.push_back(token_at(works[w], level));
  return tokens;
}

LayerFinding find_layers(std::span<const LayerItem> items, bool whole_window) {
  LayerFinding first;
  const bool operators = std::all_of(items.begin(), items.end(), [](const LayerItem& item) {
    return item.work->op_row != kNoIndex;
  });
  for (const Level level : {Level::kKernel, Level::kName, Level::kOperator}) {
    if (level == Level::kOperator && !operators) break;
    LayerFinding found = LayerFinder(items, level, whole_window).run();
    if (!found.layers.empty()) return found;
    if (level == Level::kKernel) first = std::move(found);
  }
  return first;
}

ModuleLayers find_module_layers(const TraceSet& set, const NameFacts& facts,
                                const RankModel& rank) {
  const Events& ev = rank.trace->events;
  std::map<std::string_view, ModuleClass> classes;
  std::vector<std::vector<std::uint32_t>> open(rank.trace->tracks.size());
  for (std::uint32_t row = 0; row < ev.size(); ++row) {
    if (ev.category[row] != Category::kPythonFunction || !facts.is_module(ev.name[row])) continue;
    const ModuleName name = module_name(set.strings[ev.name[row]]);
    if (name.number == kNoIndex || name.name == "Sequential" || name.name == "ModuleList") continue;
    std::vector<std::uint32_t>& stack = open[ev.track[row]];
    while (!stack.empty() && ev.end(stack.back()) <= ev.start[row]) stack.pop_back();
    const bool inside = std::any_of(stack.begin(), stack.end(), [&](std::uint32_t r) {
      return module_name(set.strings[ev.name[r]]).name == name.name;
    });
    stack.push_back(row);
    if (inside) continue;
    classes[name.name].numbers.insert(name.number);
    classes[name.name].time += ev.duration[row];
  }
  ModuleLayers found;
  const ModuleClass* best = nullptr;
  for (const auto& [name, one] : classes) {
    if (one.numbers.size() < 2 || (best != nullptr && one.time <= best->time)) continue;
    best = &one;
    found.classes = {std::string(name)};
  }
  if (best == nullptr) return found;
  found.count = static_cast<std::uint32_t>(best->numbers.size());
  found.evidence = fmt::format("{} modules {}", found.count, found.classes.front());
  return found;
}

}  // namespace flopcast::whatif
