// One list of operators on one chip, once it is known where its groups lie: what its kernels take
// and what of its transfers nothing hides.
#pragma once

#include <array>

#include "analytic/step/group_times.h"
#include "analytic/step/layer_cost.h"
#include "flopcast/analytic.h"

namespace flopcast::analytic {

/// Seconds by TimePart.
using Parts = std::array<double, kTimeParts>;
inline double& at(Parts& parts, TimePart part) { return parts[static_cast<std::size_t>(part)]; }
double sum(const Parts& parts);
/// What of a pass is transfers of its operators that nothing hides.
double sent_s(const Parts& pass);
void add(Parts& to, const Parts& from, double times = 1);

/// Where the groups that operators communicate in lie.
struct Layouts {
  std::array<GroupLayout, kGroups> groups;
  const GroupLayout& operator[](Group group) const {
    return groups[static_cast<std::size_t>(group)];
  }
};

struct ListTime {
  Parts forward{}, backward_input{}, backward_weight{};  ///< recompute is part of backward_input
  double forward_s = 0, input_s = 0, weight_s = 0;       ///< their sums
  std::array<double, 5> rests_on_s{};
};

struct PassTiming {
  GroupTimes& times;
  const Layouts& layouts;
  const Overlap& overlap;
  const Constants& constants;
};
ListTime time_list(const ListCost& cost, const PassTiming& timing);

}  // namespace flopcast::analytic
