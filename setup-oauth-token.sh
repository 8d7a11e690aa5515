#!/bin/sh
# Connects mishap to the bug tracker: runs "mishap setup-oauth-token", after building bin/mishap when it is missing.
# Arguments are passed on; --help shows the usage. Without --config the local_config.toml beside this script is used.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if [ ! -x "$here/bin/mishap" ]; then
	if ! command -v go >/dev/null || ! command -v make >/dev/null; then
		echo "bin/mishap is missing, and building it needs Go and make: apt install golang make" >&2
		exit 1
	fi
	make -s -C "$here" build >&2
fi

config=beside
for argument in "$@"; do
	case $argument in
	--config | --config=*) config=named ;;
	esac
done
if [ "$config" = beside ]; then
	cd -- "$here"
fi

exec "$here/bin/mishap" setup-oauth-token "$@"
