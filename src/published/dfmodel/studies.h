// Floor 6: the points of the published figures, computed.
#pragma once

#include "published/dfmodel/sections.h"

namespace flopcast::published {

using StudyRow = std::vector<PublishedStudy::Cell>;
using StudyRows = Result<std::vector<StudyRow>>;

/// One study: `points` gives rows of `columns`.
struct StudyEntry {
  std::string_view name, title;
  std::vector<std::string> columns;
  StudyRows (*points)(PublishedResults& results);
};
const std::vector<StudyEntry>& study_entries();

StudyRows measured_points(PublishedResults& results);
StudyRows rail_only_points(PublishedResults& results);
StudyRows calculon_points(PublishedResults& results);
StudyRows fit_points(PublishedResults& results);
StudyRows table_points(PublishedResults& results);
StudyRows sram_points(PublishedResults& results);
StudyRows serving_points(PublishedResults& results);
StudyRows speculative_points(PublishedResults& results);
StudyRows stacked_points(PublishedResults& results);

}  // namespace flopcast::published
