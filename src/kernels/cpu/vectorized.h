// TROIKA_VECTORIZED for the kernels.
#pragma once

#include "base/vectorized.h"
