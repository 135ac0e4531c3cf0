// Bands of forecasts of deployments: catalog/serving/bands.toml.
#pragma once

#include "flopcast/serving/measured.h"

namespace flopcast::serving {

/// serving_bands of the point's engine and kind of serving.
ServingBands bands_of(const ServingPoint& point, Basis basis);

}  // namespace flopcast::serving
