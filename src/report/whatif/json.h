// What the documents of `whatif` hold: of one question, of a sweep, of the page.
#pragma once

#include "base/text/json_writer.h"
#include "flopcast/report/whatif.h"

namespace flopcast::report {

/// The fields of an answer, into the object that is open.
void write_whatif(JsonWriter& w, const WhatIfAnswer& answer);
/// "sensitivity": the parts, or null.
void write_worth(JsonWriter& w, const WhatIfReport& report);

}  // namespace flopcast::report
