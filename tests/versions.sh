#!/usr/bin/env bash
# Both ends of the versions that pyproject.toml admits make the same picture, bit for bit: the oldest packages on $PYTHON,
# and the newest on $NEWEST, by default the newest Python that is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

newest_here() {
    for minor in 15 14 13 12 11; do
        for python in python3.$minor ~/.pyenv/versions/3.$minor.*/bin/python; do
            if "$python" -c "" 2> /dev/null; then
                echo "$python"
                return
            fi
        done
    done
}

# install NAME PYTHON, and more words for pip.
install() {
    local folder=build/versions/$1
    rm -rf "$folder"
    "$2" -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --no-compile "${@:3}" --editable .
}

# make_picture NAME. The scene goes through a file, which trimesh and Pillow write.
make_picture() {
    local folder=build/versions/$1
    "$folder/venv/bin/python" -c 'import sys, numba, numpy; print("Python", sys.version.split()[0], "numba", numba.__version__, "NumPy", numpy.__version__)'
    "$folder/venv/bin/tracecore" scene export cornell --to "$folder/cornell.glb"
    "$folder/venv/bin/tracecore" render "$folder/cornell.glb" --driver ao --device cpu --size 32x24 --passes 2 \
        --quiet -o "$folder/picture.png"
}

install oldest "${PYTHON:-python3}" --constraint tests/oldest-versions.txt
make_picture oldest &  # while pip waits for the network
install newest "${NEWEST:-$(newest_here)}"
make_picture newest
wait $!
cmp build/versions/{oldest,newest}/picture.npy
echo "both ends make the same picture"
