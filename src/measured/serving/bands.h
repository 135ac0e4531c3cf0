// Bands of forecasts of deployments: catalog/serving/bands.toml.
#pragma once

#include "flopcast/measured/serving.h"

namespace flopcast::measured {

/// serving_bands of the point's engine and kind of serving.
ServingBands bands_of(const ServingPoint& point, Basis basis);

}  // namespace flopcast::measured
