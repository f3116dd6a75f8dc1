#!/bin/sh
# Compares what the built program says with what the job wants it to say.
set -eu
out/greet "working tree" > out/got.txt
diff out/got.txt test/want.txt
test ! -e notes.txt || { echo "a file that is ignored came along"; exit 1; }
echo "the program says what it should: $(cat out/got.txt)"
