#!/bin/bash
# Builds quay.cc in five ways, and has each build crash in 21 ways.
#
#   quay.sh FOLDER        needs g++, clang++ and ld.lld; gdb where the kernel does not write cores into the working folder
#
# FOLDER/
#   quay.cc
#   BUILD/quay            with debug information; BUILD is O0, O1, O2, O3 or clang
#   cores/BUILD-DEPTH-BUG of a recursion of this depth
set -euo pipefail
cd "${1:?folder}"
mkdir -p cores
flags="-std=c++17 -g -pthread -Wl,--build-id -ffile-prefix-map=$PWD=/usr/src/quay"

build() { # BUILD COMPILER…
	mkdir -p "$1"
	"${@:2}" $flags -o "$1/quay" quay.cc
}
build O0 g++ -O0 &
build O1 g++ -O1 &
build O2 g++ -O2 &
build O3 g++ -O3 -flto &
build clang clang++ -O2 -fuse-ld=lld -Wl,--icf=all &
wait
for build in O0 O1 O2 O3 clang; do [ -x "$build/quay" ]; done

crash() { # BUILD DEPTH BUG
	local work core program=$PWD/$1/quay to=$PWD/cores/$1-$2-$3
	work=$(mktemp -d)
	env -i bash -c 'cd "$0" && ulimit -c unlimited && "${@:1}"; exit 0' "$work" "$program" "$3" "$2" >/dev/null 2>&1
	core=$(find "$work" -name 'core*' | head -n 1)
	if [ -z "$core" ]; then # the machine sends cores elsewhere: have gdb write one
		core=$work/core
		env -i gdb -nx -batch -iex 'set auto-load no' -iex 'set debuginfod enabled off' -ex run \
			-ex "generate-core-file $core" --args "$program" "$3" "$2" >/dev/null 2>&1
	fi
	chmod 644 "$core"
	mv "$core" "$to"
	rm -rf "$work"
}
for bug in $(seq 21); do
	crash O0 3 "$bug" & crash O1 5 "$bug" & crash O2 3 "$bug" & crash O2 5 "$bug" & crash O3 7 "$bug" & crash clang 5 "$bug" &
	wait
done
