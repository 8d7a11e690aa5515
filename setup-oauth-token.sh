#!/bin/sh
# Connects mishap to the bug tracker: runs "mishap setup-oauth-token" with the same arguments. In the source code it
# first builds bin/mishap if that is missing, and uses the local_config.toml beside this script, unless there is
# --config. --help explains the options.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if [ ! -x "$here/bin/mishap" ] && [ ! -f "$here/Makefile" ]; then # in the Debian package
	exec mishap setup-oauth-token "$@"
fi

if [ ! -x "$here/bin/mishap" ]; then
	if ! command -v go >/dev/null || ! command -v make >/dev/null; then
		echo "bin/mishap is missing, and building it needs Go and make: apt install golang make" >&2
		exit 1
	fi
	make -s -C "$here" build >&2
fi

config=default
for argument in "$@"; do
	case $argument in
	--config | --config=*) config=given ;;
	esac
done
if [ "$config" = default ]; then
	cd -- "$here"
	set -- --config local_config.toml "$@"
fi

exec "$here/bin/mishap" setup-oauth-token "$@"
