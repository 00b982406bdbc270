// weft::models: GPT and GPT-2, generation, tokenisers and files, with everything from weft::nn.
#pragma once

#include "weft/models/generate.h"
#include "weft/models/gpt.h"
#include "weft/models/gpt2.h"
#include "weft/models/io.h"
#include "weft/models/sample.h"
#include "weft/models/tokenizer.h"
#include "weft/nn.h"
