// What the room calls the machine's constants of training.
#pragma once

#include "flopcast/machine/training.h"

namespace flopcast::analytic {

using Constants = TrainingConstants;

}  // namespace flopcast::analytic
