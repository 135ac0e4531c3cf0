// Floor 8: answers to what-ifs: text, JSON, the HTML page with both timelines.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flopcast/question/whatif.h"
#include "flopcast/whatif.h"

namespace flopcast {

/// One question to one recording, and all that is shown of it.
struct WhatIfReport {
  std::string recording;  ///< label of what was read
  WhatIfAnswer answer;    ///< refused or not
  /// Of the recording, not of the run after; nothing unless it was asked for.
  std::optional<std::vector<WhatIfSensitivity>> sensitivity;
};

/// The answer in its first line, then where the time goes, causes, the band, what it rests on.
std::string whatif_text(const WhatIfReport& report);
/// Documented in docs/reference/json.md; the field names are a contract.
std::string whatif_json(const WhatIfReport& report);
/// One self-contained page. @param runs before and after (WhatIf::runs): the step whose length
/// before is nearest to the answer's is drawn; nothing where the question is refused.
std::string whatif_html(const WhatIfReport& report,
                        const std::optional<std::pair<WhatIfRun, WhatIfRun>>& runs);

/// One of several questions to a recording.
struct WhatIfQuestion {
  std::string id;                     ///< as the user named it
  std::optional<Diagnostic> failure;  ///< set: the question is none, and `answer` is empty
  WhatIfAnswer answer;                ///< refused or not
};
/// A row a question, then why some are refused.
std::string questions_text(const std::string& recording,
                           const std::vector<WhatIfQuestion>& questions);
/// One line of JSON: the fields of whatif_json and the question's `id`.
std::string question_json(const std::string& recording, const WhatIfQuestion& question);

/// Cases beside their truths: a row a case, errors over all, why some have no forecast.
std::string whatif_validation_text(const std::vector<WhatIfOutcome>& outcomes);
/// docs/reference/json.md, "validate whatif".
std::string whatif_validation_json(const std::vector<WhatIfOutcome>& outcomes);

}  // namespace flopcast
