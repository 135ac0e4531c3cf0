// What texts, JSON and the page say alike of a what-if.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flopcast/report/whatif.h"

namespace flopcast::report {

/// Every change as the command line says it, in the order they are applied.
std::vector<std::string> change_list(const WhatIfChanges& changes);
/// All of them in a line; "nothing changed" where there is none.
std::string changes_line(const WhatIfChanges& changes);

/// The step that is talked of: GPU steps where there are any, else those of the host.
struct JudgedStep {
  const char* kind;  ///< "GPU step" or "host step"
  Time before, after;
};
JudgedStep judged_step(const WhatIfAnswer& answer);

/// "-25.18 %, 1.34 x faster", "+20.00 %, 1.20 x slower", "no change".
std::string change_words(Time before, Time after);
/// "+1.23 ms", "-40.0 us", "0".
std::string signed_time(Time time);
/// Where the time of a step goes, for people: WhatIfPart::part.
std::string step_part_title(const std::string& part);
/// A part of a sensitivity, for people: WhatIfSensitivity::part.
std::string worth_title(const std::string& part);
/// A total: its name in documents, its title, and how it is shown.
struct TotalRow {
  const char* name;   ///< "tokens_per_s"
  const char* title;  ///< "tokens per second"
  std::optional<double> WhatIfTotals::*value;
  std::string (*shown)(double value);  ///< "1,234", "45.6 %", "2.1 GiB"
};
std::span<const TotalRow> total_rows();  ///< all, in the order in which they are told
/// "8 ranks", "8 ranks -> 512 ranks".
std::string ranks_words(const WhatIfAnswer& answer);

}  // namespace flopcast::report
