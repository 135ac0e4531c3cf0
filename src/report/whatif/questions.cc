// Several questions to one recording, as a table.
#include <fmt/format.h>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "report/render/table.h"
#include "report/whatif/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::size_t kIdWidth = 40;
constexpr std::size_t kChangesWidth = 80;

std::vector<std::string> row_of(const WhatIfQuestion& question) {
  const WhatIfAnswer& answer = question.answer;
  std::vector<std::string> row = {shortened(question.id, kIdWidth)};
  if (question.failure || !answer.refused.empty()) {
    row.insert(row.end(), {question.failure ? "no question" : "no answer", "", "", "", ""});
  } else {
    const JudgedStep step = judged_step(answer);
    const std::string band =
        answer.band.low < answer.band.high
            ? fmt::format("{} to {}", in_ms(answer.band.low), in_ms(answer.band.high))
            : "-";
    row.insert(row.end(), {in_ms(step.before), in_ms(step.after), band,
                           signed_percent(relative_error(step.before, step.after)),
                           std::to_string(answer.ranks_after)});
  }
  row.push_back(question.failure ? "" : shortened(changes_line(answer.changes), kChangesWidth));
  return row;
}

std::string why_not(const WhatIfQuestion& question) {
  if (question.failure)
    return fmt::format("  - {}: {}\n", escaped(question.id), question.failure->text());
  std::string text;
  for (const WhatIfRefusal& refusal : question.answer.refused) {
    text += fmt::format("  - {}: {}: {}\n", escaped(question.id), escaped(refusal.change),
                        escaped(refusal.missing));
  }
  return text;
}

}  // namespace

std::string questions_text(const std::string& recording,
                           const std::vector<WhatIfQuestion>& questions) {
  Table table({{"question", Align::kLeft},
               {"step ms"},
               {"after"},
               {"band"},
               {"change"},
               {"ranks"},
               {"changes", Align::kLeft}});
  std::string unanswered;
  for (const WhatIfQuestion& question : questions) {
    table.add(row_of(question));
    unanswered += why_not(question);
  }
  std::string text = fmt::format("{}: {}\n{}", escaped(recording),
                                 counted(questions.size(), "question"), table.text());
  if (!unanswered.empty()) text += "\nNo answer\n" + unanswered;
  return text;
}

}  // namespace flopcast
