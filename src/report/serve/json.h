// Members of an answer about serving, for the JSON and for the page.
#pragma once

#include "base/text/json_writer.h"
#include "flopcast/question/serve.h"

namespace flopcast::report {

/// Into the object that is open.
void write_serve_answer(JsonWriter& w, const ServeAnswer& answer);

}  // namespace flopcast::report
