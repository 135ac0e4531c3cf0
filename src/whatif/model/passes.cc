#include "whatif/model/passes.h"

#include <algorithm>

#include "whatif/model/groups.h"
#include "whatif/model/repeats.h"

namespace flopcast::whatif {
namespace {

using replaying::kNoIndex;

/// Which forward stretch an autograd number belongs to.
class ForwardNumbers {
 public:
  ForwardNumbers(const Program& program, const std::vector<Stretch>& stretches) {
    for (std::uint32_t s = 0; s < stretches.size(); ++s) {
      if (stretches[s].sort != Stretch::Sort::kPass || stretches[s].pass != Pass::kForward)
        continue;
      for (const std::uint32_t w : stretches[s].works) {
        const std::int64_t number = forward_number(program.works[w]);
        if (number != kNoId) numbers_.push_back({number, s});
      }
    }
    std::sort(numbers_.begin(), numbers_.end());
  }

  /// That of the last forward work numbered so or lower: operators without kernels have numbers too.
  std::uint32_t stretch_of(std::int64_t number) const {
    const auto next =
        std::upper_bound(numbers_.begin(), numbers_.end(), number,
                         [](std::int64_t n, const std::pair<std::int64_t, std::uint32_t>& e) {
                           return n < e.first;
                         });
    if (next == numbers_.begin()) return numbers_.empty() ? kNoIndex : numbers_.front().second;
    return std::prev(next)->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::uint32_t>> numbers_;
};

class PassCutter {
 public:
  PassCutter(const replaying::RankModel& rank, const Program& program,
             const std::vector<ModelGroup>& groups)
      : rank_(rank), program_(program), groups_(groups) {}

  Passes run() {
    cut_by_marks();
    if (program_.planned) return std::move(passes_);
    trim_forward();
    split_backward_by_numbers();
    split_forward_by_backward();
    link_backward();
    tell_weights();
    find_riders();
    return std::move(passes_);
  }

 private:
  GroupUse use_of(const Work& work) const {
    return work.group == kNoIndex ? GroupUse::kUnknown : groups_[work.group].use;
  }

  bool is_rider(const Work& work) const {
    const GroupUse use = use_of(work);
    return use != GroupUse::kModel && is_apart(use);
  }

  /// Sort and pass, step, thread: where any of them changes, a stretch ends.
  void cut_by_marks() {
    for (std::uint32_t w = 0; w < program_.works.size(); ++w) {
      const Work& work = program_.works[w];
      if (is_rider(work)) continue;
      Stretch next;
      next.pass = work.pass;
      next.step = work.step;
      next.thread = work.thread;
      next.sort = Stretch::Sort::kRest;
      if (use_of(work) == GroupUse::kPipeline || work.send) {
        next.sort = Stretch::Sort::kExchange;
        next.pass = Pass::kOther;
      } else if (work.pass == Pass::kForward || work.pass == Pass::kBackward ||
                 work.pass == Pass::kWeights) {
        next.sort = Stretch::Sort::kPass;
      }
      if (passes_.stretches.empty() || program_.planned ||
          !continues(passes_.stretches.back(), next)) {
        passes_.stretches.push_back(std::move(next));
      }
      passes_.stretches.back().works.push_back(w);
    }
  }

  static bool continues(const Stretch& a, const Stretch& b) {
    return a.sort == b.sort && a.pass == b.pass && a.step == b.step && a.thread == b.thread;
  }

  /// In training where autograd's numbers are known, forward work that has none at the ends of a stretch is no
  /// part of the model: input copies, norms of gradients, logging. Where they are not, copies at the
  /// ends are not. Nor are stretches without a product: a loss that is read.
  void trim_forward() {
    const bool trains = std::any_of(program_.works.begin(), program_.works.end(),
                                    [](const Work& w) { return w.pass == Pass::kBackward; });
    if (!trains) return;
    const bool products =
        std::any_of(passes_.stretches.begin(), passes_.stretches.end(), [&](const Stretch& s) {
          return s.sort == Stretch::Sort::kPass && s.pass == Pass::kForward && has_product(s);
        });
    std::vector<Stretch> out;
    for (Stretch& s : passes_.stretches) {
      if (s.sort != Stretch::Sort::kPass || s.pass != Pass::kForward) {
        out.push_back(std::move(s));
        continue;
      }
      const auto numbered = [&](std::uint32_t w) {
        return program_.has_sequence ? program_.works[w].sequence != kNoId
                                     : !program_.works[w].copy;
      };
      const auto first = std::find_if(s.works.begin(), s.works.end(), numbered);
      const auto last = std::find_if(s.works.rbegin(), s.works.rend(), numbered).base();
      if (first == s.works.end() || (products && !has_product(s))) {
        s.sort = Stretch::Sort::kRest;
        s.pass = Pass::kOther;
        out.push_back(std::move(s));
        continue;
      }
      add_part(out, s, {s.works.begin(), first}, true);
      add_part(out, s, {first, last}, false);
      add_part(out, s, {last, s.works.end()}, true);
    }
    passes_.stretches = std::move(out);
  }

  bool has_product(const Stretch& s) const {
    return std::any_of(s.works.begin(), s.works.end(), [&](std::uint32_t w) {
      const KernelKind kind = program_.works[w].kind;
      return kind == KernelKind::kGemm || kind == KernelKind::kAttention;
    });
  }

  static void add_part(std::vector<Stretch>& out, const Stretch& whole,
                       std::vector<std::uint32_t> works, bool rest) {
    if (works.empty()) return;
    Stretch part = whole;
    part.works = std::move(works);
    if (rest) {
      part.sort = Stretch::Sort::kRest;
      part.pass = Pass::kOther;
    }
    out.push_back(std::move(part));
  }

  /// Cuts stretches of one pass where `ends_before` says so of a work.
  template <typename MakeRule>
  void split(Pass pass, MakeRule make_rule) {
    std::vector<Stretch> out;
    for (Stretch& s : passes_.stretches) {
      if (s.sort != Stretch::Sort::kPass || s.pass != pass) {
        out.push_back(std::move(s));
        continue;
      }
      auto ends_before = make_rule();
      std::vector<std::uint32_t> part;
      for (const std::uint32_t w : s.works) {
        if (ends_before(program_.works[w]) && !part.empty()) {
          add_part(out, s, std::move(part), false);
          part.clear();
        }
        part.push_back(w);
      }
      add_part(out, s, std::move(part), false);
    }
    passes_.stretches = std::move(out);
  }

  /// Autograd runs what was made last first: a number above all before it begins another backward,
  /// and so does one that leaps back up over most of what was run (a pass of weights).
  void split_backward_by_numbers() {
    if (!program_.has_sequence) return;
    split(Pass::kBackward, [] {
      return [most = std::int64_t{kNoId}, least = std::int64_t{kNoId},
              last = std::int64_t{kNoId}](const Work& work) mutable {
        const std::int64_t number = forward_number(work);
        if (number == kNoId) return false;
        const bool first = most == kNoId;
        const bool above = !first && number > most;
        const bool leap =
            !first && number > last && 2 * (number - last) > most - least && most - least > 4;
        last = number;
        most = first || above || leap ? number : most;
        least = first || above || leap ? number : std::min(least, number);
        return above || leap;
      };
    });
  }

  /// Forward stretches of several microbatches fall apart where another backward's numbers begin.
  void split_forward_by_backward() {
    if (!program_.has_sequence) return;
    std::vector<std::int64_t> tops;  // highest number of every backward
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::vector<Time> ended(rank_.threads.size(), Time::min());  // last launch of each thread
    for (const Stretch& s : passes_.stretches) {
      if (s.thread == kNoIndex) continue;
      const Time end = last_launch(s);
      if (s.sort == Stretch::Sort::kPass && s.pass == Pass::kBackward) {
        const auto [least, most] = numbers_between(s.thread, ended[s.thread], end);
        const bool within = std::any_of(ranges.begin(), ranges.end(), [most = most](const auto& r) {
          return r.first <= most && most <= r.second;
        });
        if (most != kNoId && !within) {  // a pass of weights meets the same numbers again
          tops.push_back(most);
          ranges.push_back({least, most});
        }
      }
      ended[s.thread] = std::max(ended[s.thread], end);
    }
    std::sort(tops.begin(), tops.end());
    tops.erase(std::unique(tops.begin(), tops.end()), tops.end());
    const auto backward_of = [&tops](std::int64_t number) {
      return std::lower_bound(tops.begin(), tops.end(), number) - tops.begin();
    };
    split(Pass::kForward, [&] {
      return [&backward_of, last = std::ptrdiff_t{-1}](const Work& work) mutable {
        if (work.sequence == kNoId) return false;
        const std::ptrdiff_t now = backward_of(work.sequence);
        const bool ends = last >= 0 && now != last;
        last = now;
        return ends;
      };
    });
  }

  Time last_launch(const Stretch& s) const {
    return rank_.calls[rank_.gpu[program_.works[s.works.back()].task].call].start -
           rank_.host_offset;
  }

  /// The lowest and highest number of the backward's rows of a thread in a stretch of time: those of
  /// operators that launch nothing in backward are among them.
  std::pair<std::int64_t, std::int64_t> numbers_between(std::uint32_t thread, Time from,
                                                        Time until) const {
    const std::vector<GradientRow>& rows = program_.gradients;
    std::pair<std::int64_t, std::int64_t> found{kNoId, kNoId};
    auto row = std::upper_bound(rows.begin(), rows.end(), from,
                                [](Time t, const GradientRow& g) { return t < g.start; });
    for (; row != rows.end() && row->start <= until; ++row) {
      if (row->track != rank_.threads[thread].track || row->of_recomputed) continue;
      found.first = found.first == kNoId ? row->number : std::min(found.first, row->number);
      found.second = std::max(found.second, row->number);
    }
    return found;
  }

  /// The forward that most of a backward's numbers come from; a backward of several is split.
  void link_backward() {
    const ForwardNumbers numbers(program_, passes_.stretches);
    if (program_.has_sequence) {
      split(Pass::kBackward, [&numbers] {
        return [&numbers, last = kNoIndex](const Work& work) mutable {
          if (forward_number(work) == kNoId) return false;
          const std::uint32_t now = numbers.stretch_of(work.sequence);
          const bool ends = last != kNoIndex && now != last;
          last = now;
          return ends;
        };
      });
    }
    // Splitting a backward moved the stretches behind it.
    const ForwardNumbers after(program_, passes_.stretches);
    for (Stretch& s : passes_.stretches) {
      if (s.sort != Stretch::Sort::kPass || s.pass != Pass::kBackward) continue;
      for (const std::uint32_t w : s.works) {
        const std::int64_t number = forward_number(program_.works[w]);
        if (number == kNoId) continue;
        s.forward = after.stretch_of(number);
        break;
      }
    }
  }

  /// A second backward of the same forward makes the gradients of weights.
  void tell_weights() {
    std::vector<std::uint8_t> seen(passes_.stretches.size(), 0);
    for (Stretch& s : passes_.stretches) {
      if (s.sort != Stretch::Sort::kPass || s.pass != Pass::kBackward || s.forward == kNoIndex)
        continue;
      if (seen[s.forward]++ > 0) s.pass = Pass::kWeights;
    }
  }

  void find_riders() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> place(program_.works.size());
    for (std::uint32_t s = 0; s < passes_.stretches.size(); ++s) {
      for (std::uint32_t i = 0; i < passes_.stretches[s].works.size(); ++i) {
        place[passes_.stretches[s].works[i]] = {s, i + 1};
      }
    }
    std::pair<std::uint32_t, std::uint32_t> last{0, 0};
    for (std::uint32_t w = 0; w < program_.works.size(); ++w) {
      if (!is_rider(program_.works[w])) {
        last = place[w];
        continue;
      }
      const std::uint32_t next = next_of_thread(w);
      if (next != kNoIndex && program_.works[w].operation == CollectiveOp::kAllGather) {
        passes_.riders.push_back({w, place[next].first, place[next].second - 1, true});
      } else {
        passes_.riders.push_back({w, last.first, last.second, false});
      }
    }
  }

  /// The next work that is no rider, if the same thread launches it in the same step.
  std::uint32_t next_of_thread(std::uint32_t rider) const {
    const Work& own = program_.works[rider];
    for (std::uint32_t w = rider + 1; w < program_.works.size(); ++w) {
      const Work& next = program_.works[w];
      if (is_rider(next)) continue;
      return next.thread == own.thread && next.step == own.step ? w : kNoIndex;
    }
    return kNoIndex;
  }

  const replaying::RankModel& rank_;
  const Program& program_;
  const std::vector<ModelGroup>& groups_;
  Passes passes_;
};

}  // namespace

Passes cut_passes(const replaying::RankModel& rank, const Program& program,
                  const std::vector<ModelGroup>& groups) {
  return PassCutter(rank, program, groups).run();
}

}  // namespace flopcast::whatif
