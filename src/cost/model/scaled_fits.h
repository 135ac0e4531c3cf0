// Fits scaled to other rates, remembered: the models of a chip whose numbers change one by one, of the points of a sweep and of
// one answer after another ask for the same again and again.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "cost/forms/rates.h"
#include "cost/model/fits.h"

namespace flopcast::cost {

/// Safe to use from several threads. What it says is what `scaled` says.
template <typename Fit, typename Kind>
class ScaledFits {
 public:
  /// @param owner of `fit`
  std::shared_ptr<const Fit> of(const std::shared_ptr<const Fits>& owner, const Fit& fit,
                                const Kind& kind, const Rates& rates) {
    if (auto known = find(fit, kind, rates)) return known;
    auto made = std::make_shared<const Fit>(scaled(fit, kind, rates));
    const std::lock_guard lock(mutex_);
    entries_.push_back({owner, &fit, kind, rates, made});
    if (entries_.size() > kMost) entries_.pop_front();
    return made;
  }

 private:
  static constexpr std::size_t kMost = 128;
  struct Entry {
    std::shared_ptr<const Fits> owner;  ///< so that no other fit comes to lie where this one is
    const Fit* fit;
    Kind kind;
    Rates rates;
    std::shared_ptr<const Fit> made;
  };

  std::shared_ptr<const Fit> find(const Fit& fit, const Kind& kind, const Rates& rates) {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.fit == &fit && entry.kind == kind && entry.rates == rates) return entry.made;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace flopcast::cost
