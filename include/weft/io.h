// weft::io: files of tensors and text, and tokenisers, with the core. What cannot be read, written or
// understood is an IoError that names the path and the reason. A file is written completely or not at all: to a
// temporary file next to it, synced, then renamed over the old one, whose permissions are kept and whose
// symbolic link is followed.
#pragma once

#include "weft/core.h"
#include "weft/io/files.h"
#include "weft/io/gguf.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"
#include "weft/text/tokenizer.h"
