// weft::lm: language models and generation, with weft::nn and weft::io.
#pragma once

#include "weft/io.h"
#include "weft/lm/chat.h"
#include "weft/lm/decoder.h"
#include "weft/lm/generate.h"
#include "weft/lm/gpt.h"
#include "weft/lm/language_model.h"
#include "weft/lm/pretrained.h"
#include "weft/nn.h"
