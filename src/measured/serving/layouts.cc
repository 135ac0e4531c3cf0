// Labels of layouts come from a launcher's two numbers, tp and ep, and a flag (attention is data parallel). Tables that
// were made of them multiply the two where only one of them counts chips:
//
//   labels                                    launched as          read as
//   tp = n n, expert tp = ep = n              tp n, ep n           tp n, ep n: n chips
//   tp 1, dp = n n, expert tp = ep = n        tp n, ep n, flag     dp n, ep n: n chips
//   tp = dp = n, ep = n n                     tp n, ep n           tp n, ep n, or dp n where the launch had the flag
//   tp n, expert tp m > 1 != n, no ep         tp m                 tp m: experts have no other chips than attention
//   tp 1, dp n > 8, expert tp n, no ep        tp n, flag           dp n, ep n: SGLang's all-to-all shares experts out over
//                                                                  all chips of a launch over several nodes (its
//                                                                  documentation: with DeepEP ep is tp)
//
// The third was found by runs that other tables hold with the plain label: their times agree to 1 %.
#include "measured/serving/layouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "measured/serving/launches.h"

namespace flopcast::measured {
namespace {

ReadLayout repaired_layout(ServingLayout layout, std::string how) {
  return {layout, std::move(how)};
}

}  // namespace

ReadLayout layout_of(const LayoutLabels& labels, const ServingPoint& point) {
  const unsigned tp = std::max(labels.tp, 1U), dp = std::max(labels.attention_dp, 1U);
  const unsigned expert_tp = std::max(labels.expert_tp, 1U), ep = std::max(labels.ep, 1U);
  const unsigned pp = std::max(labels.pp, 1U);
  const bool square = expert_tp > 1 && expert_tp == ep;
  if (square && dp == 1 && tp == expert_tp * ep) {
    return repaired_layout({ep, 1, ep, pp}, fmt::format("tp {} is tp x ep of {} chips", tp, ep));
  }
  if (square && tp == 1 && dp == expert_tp * ep) {
    return repaired_layout({1, ep, ep, pp}, fmt::format("dp {} is tp x ep of {} chips", dp, ep));
  }
  if (tp > 1 && dp == tp && ep == tp * dp) {
    const bool data_parallel = launched_data_parallel(point, tp, tp);
    return repaired_layout(
        data_parallel ? ServingLayout{1, tp, tp, pp} : ServingLayout{tp, 1, tp, pp},
        fmt::format("tp {} and dp {} are of the same {} chips", tp, dp, tp));
  }
  if (labels.attention_dp == 0 && ep == 1 && expert_tp > 1 && tp < expert_tp) {
    return repaired_layout({expert_tp, 1, 1, pp},
                           fmt::format("experts are on {} chips, tp is {}", expert_tp, tp));
  }
  constexpr unsigned kMostOfANode = 8;
  if (point.engine == "sglang" && tp == 1 && expert_tp == dp && ep == 1 && dp > kMostOfANode) {
    return repaired_layout({1, dp, dp, pp},
                           fmt::format("experts of {} data-parallel chips are shared out", dp));
  }
  ReadLayout as_told{{tp, dp, std::min(ep, tp * dp), pp}, ""};
  if ((tp * dp) % as_told.layout.ep != 0) as_told.layout.ep = 1;
  return as_told;
}

}  // namespace flopcast::measured
