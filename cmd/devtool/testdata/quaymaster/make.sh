#!/bin/bash
# Makes the files of the native crash that the demonstration shows: the packages of quaymaster, its core dump, and the report as
# a machine without debug files sends it. Needs gcc, objcopy, gdb, dpkg-deb and dwz of Debian or Ubuntu, on amd64.
set -euo pipefail
cd "$(dirname "$0")"
export SOURCE_DATE_EPOCH=1790000000 version=1.4-2
here=$PWD work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{program,symbols}/DEBIAN "$work/program/usr/bin"
gcc -g -O1 -nostdlib -static -ffreestanding -fno-pie -no-pie -fno-optimize-sibling-calls -Wl,--build-id \
	-ffile-prefix-map="$here"=/usr/src/quaymaster -o "$work/quaymaster" quaymaster.c
id=$(readelf -n "$work/quaymaster" | sed -n 's/ *Build ID: //p')
mkdir -p "$work/symbols/usr/lib/debug/.build-id/${id:0:2}"
objcopy --only-keep-debug --compress-debug-sections "$work/quaymaster" \
	"$work/symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
strip -o "$work/program/usr/bin/quaymaster" "$work/quaymaster"

control() { # FOLDER PACKAGE DESCRIPTION [FIELD…]
	{
		printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: Harbour Office <harbour@example.com>\n' "$2" "$version"
		printf '%s\n' "${@:4}"
		printf 'Description: %s\n Part of the demonstration.\n' "$3"
	} > "$1/DEBIAN/control"
}
control "$work/program" quaymaster 'draws the water levels of harbours' 'Section: misc'
control "$work/symbols" quaymaster-dbgsym 'debug symbols for quaymaster' 'Section: debug' 'Auto-Built-Package: debug-symbols' \
	"Build-Ids: $id" "Depends: quaymaster (= $version)"
chmod -R u=rwX,go=rX "$work/program" "$work/symbols"
dpkg-deb --root-owner-group -b "$work/program" "quaymaster_${version}_amd64.deb" >/dev/null
dpkg-deb --root-owner-group -b "$work/symbols" "quaymaster-dbgsym_${version}_amd64.ddeb" >/dev/null

cp "$work/program/usr/bin/quaymaster" /usr/bin/quaymaster; trap 'rm -rf "$work" /usr/bin/quaymaster' EXIT # the core names the path
env -i gdb -nx -batch -iex 'set auto-load no' -iex 'set debuginfod enabled off' -iex 'set startup-with-shell off' -ex run \
	-ex "generate-core-file $work/core" /usr/bin/quaymaster >/dev/null 2>&1
gzip -9n < "$work/core" > quaymaster.core.gz

# The stack as gdb prints it without debug files: addresses only. It unwinds with the program's own tables; what lies outside the
# program are guesses.
gdb -nx -batch -iex 'set auto-load no' -iex 'set debuginfod enabled off' -ex 'echo STACK\n' -ex bt \
	"$work/program/usr/bin/quaymaster" "$work/core" 2>/dev/null | sed '1,/^STACK/d' | grep ' 0x0*40[0-9a-f]\{4\} in ' > "$work/stack"
start=$(readelf -lW "$work/program/usr/bin/quaymaster" | awk '$1 == "LOAD" && $7 $8 ~ /E/ { print $3 }')
signature=/usr/bin/quaymaster:11
for address in $(sed -n 's/^#[0-9]* *\(0x[0-9a-f]*\) in .*/\1/p' "$work/stack"); do
	signature+=$(printf ':/usr/bin/quaymaster+%x' $((address - start)))
done
{
	cat <<-FIELDS
		ProblemType: Crash
		Architecture: amd64
		CurrentDesktop: ubuntu:GNOME
		DistroRelease: Ubuntu 24.04
		ExecutablePath: /usr/bin/quaymaster
		Package: quaymaster $version
		ProcCmdline: quaymaster
		ProcVersionSignature: Ubuntu 6.8.0-45.45-generic 6.8.12
		Signal: 11
		SignalName: SIGSEGV
		SourcePackage: quaymaster
		StacktraceAddressSignature: $signature
		Tags: noble
		Uname: Linux 6.8.0-45-generic x86_64
		Stacktrace:
	FIELDS
	sed 's/^/ /' "$work/stack"
	echo 'StacktraceTop:'
	head -n 5 "$work/stack" | sed 's/^#[0-9]* *0x[0-9a-f]* in / /'
} > quaymaster.crash
