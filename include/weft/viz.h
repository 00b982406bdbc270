// weft::viz: pictures in the terminal and as SVG, and stories, with weft::nn and weft::io.
#pragma once

#include "weft/io.h"
#include "weft/nn.h"
#include "weft/viz/figure.h"
#include "weft/viz/pictures.h"
