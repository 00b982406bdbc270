#!/usr/bin/env bash
# The text of make train without TEXT: Debian's package jargon-text, unpacked in build/jargon-text rather than installed, because
# systems may leave documentation out of what they install. Without it train_gpt takes the pages of the book.
cd "$(dirname "$0")/.." || exit
text=usr/share/doc/jargon-text/jargon.txt.gz
[ ! -e /$text ] && [ ! -e build/jargon-text/$text ] || exit 0

fetch() { apt-get download -q jargon-text; }
root=$([ "$(id -u)" = 0 ] || echo "sudo -n")
unpack() {
    command -v apt-get >/dev/null && mkdir -p build/jargon-text && cd build/jargon-text && rm -f ./*.deb &&
        { fetch || { $root apt-get update -q && fetch; }; } && dpkg -x ./*.deb . && rm ./*.deb
}
unpack || echo "Debian's package jargon-text is out of reach"
