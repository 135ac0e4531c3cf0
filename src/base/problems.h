// Several things that are wrong with one input, told at once.
#pragma once

#include <string>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// One of them as it is; more as one error, a line each. @pre there is one. @param where of what all of them are
Diagnostic together(const std::vector<Diagnostic>& problems, const std::string& where);

}  // namespace flopcast
