// weft::lm: language models and generation, with weft::nn and weft::io.
#pragma once

#include "weft/io.h"
#include "weft/lm/chat.h"
#include "weft/lm/decoder.h"
#include "weft/lm/generate.h"
#include "weft/lm/gpt.h"
#include "weft/lm/gpt2.h"
#include "weft/lm/inside.h"
#include "weft/lm/language_model.h"
#include "weft/lm/likelihood.h"
#include "weft/lm/pretrained.h"
#include "weft/lm/sample.h"
#include "weft/nn.h"
