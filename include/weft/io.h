// weft::io: files of tensors and text, and tokenisers, with the core.
#pragma once

#include "weft/core.h"
#include "weft/io/atomic_file.h"
#include "weft/io/files.h"
#include "weft/io/gzip.h"
#include "weft/io/input_file.h"
#include "weft/io/npy.h"
#include "weft/io/npz.h"
#include "weft/io/safetensors.h"
#include "weft/text/tokenizer.h"
