#!/bin/bash
# Makes crashing programs, their cores and their debug files.
#
#   make.sh FOLDER        needs gcc, g++, go, objcopy and dwz; gdb where the kernel does not write cores into the
#                         working folder
#
# FOLDER/
#   src/            the sources (their paths stand in the debug files)
#   original/       the programs and the library with their debug information, as they crash
#   root/usr/bin    the same, stripped; root/usr/lib the library: what is published
#   symbols/        NAME.debug: what only the builder has
#   cores/          NAME.core, NAME-WAY.core of programs that crash in several ways
set -euo pipefail
out=$(mkdir -p "${1:?folder}" && cd "$1" && pwd)
mkdir -p "$out"/{src,original,root/usr/bin,root/usr/lib,symbols,cores}
cd "$out/src"

cat > tide.h <<'C'
struct row { const char *name; int depth; int *cells; };
int tide_sum(const struct row *r, int n);
int tide_each(int (*f)(const struct row *, int), const struct row *r, int n);
C
cat > libtide.c <<'C'
#include "tide.h"
static inline __attribute__((always_inline)) int cell(const struct row *r, int i) { return r->cells[i] * 3; }
static inline __attribute__((always_inline)) int pair(const struct row *r, int i) { return cell(r, i) + cell(r, i + 1); }
int tide_sum(const struct row *r, int n) { int s = 0; for (int i = 0; i + 1 < n; i++) s += pair(r, i); return s; }
__attribute__((noinline)) int tide_each(int (*f)(const struct row *, int), const struct row *r, int n) { return f(r, n) + 1; }
C
cat > tidewatch.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tide.h"
static char *secret;
static void *wait_for_harbour(void *arg) { (void)arg; for (;;) pause(); }
static __attribute__((noinline)) int parse(const struct row *r, int n) { return tide_each(tide_sum, r, n) + 1; }
static __attribute__((noinline)) int load(const char *name) { struct row r = {name, 4, NULL}; return parse(&r, r.depth) + 1; }
static void copy(const char *from, const char *to) {
	char buf[4096]; size_t n; FILE *a = fopen(from, "r"), *b = fopen(to, "w");
	while ((n = fread(buf, 1, sizeof buf, a)) > 0) fwrite(buf, 1, n, b);
	fclose(a); fclose(b);
}
static void *work(void *arg) { printf("%d\n", load(arg)); return NULL; }
int main(int argc, char **argv) {
	pthread_t a, b, c;
	size_t mb = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	secret = strdup("password=swordfish");
	if (mb) { unsigned *p = malloc(mb << 20), x = 1; for (size_t i = 0; i < mb << 18; i++) p[i] = x = x * 1664525 + 1013904223; }
	pthread_create(&a, NULL, wait_for_harbour, NULL);
	pthread_create(&b, NULL, wait_for_harbour, NULL);
	usleep(100000);
	if (argc > 1) copy("/proc/self/maps", argv[1]);
	pthread_create(&c, NULL, work, "north quay");
	pthread_join(c, NULL);
	return 0;
}
C
cat > isobar.cc <<'C'
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
namespace isobar {
namespace {
template <typename T> struct Grid {
	std::map<std::string, std::vector<T>> cells;
	__attribute__((noinline)) T at(const std::string &k, int i) { auto it = cells.find(k); if (it == cells.end()) throw std::out_of_range("no cell " + k); return it->second[i]; }
};
__attribute__((noinline)) double draw(Grid<double> &g) { return g.at("fog", 3) * 2; }
}
}
int main() { isobar::Grid<double> g; g.cells["rain"] = {1, 2}; return int(isobar::draw(g)); }
C
cat > tiny.c <<'C'
static __attribute__((noinline)) int parse(volatile int *p) { return *p; }
static inline __attribute__((always_inline)) int row(volatile int *p) { return parse(p) + 1; }
__attribute__((noinline)) int load(void) { return row((int *)0) + 1; }
void _start(void) { load(); for (;;) ; }
C
mkdir -p keel reef
cat > keel/main.go <<'C'
package main

type row struct{ cells *[8]int }

func cell(r *row, i int) int { return r.cells[i] }

//go:noinline
func parse(r *row) int { return cell(r, 3) + 1 }

//go:noinline
func load() int { return parse(&row{}) }

func main() { println(load()) }
C
cat > reef/main.rs <<'C'
#[inline(never)]
fn parse(p: *const u32, n: usize) -> u32 { unsafe { *p.add(n) } }
#[inline(never)]
fn load(n: usize) -> u32 { parse(std::hint::black_box(std::ptr::null()), n).wrapping_add(1) }
fn main() { println!("{}", load(std::env::args().count())); }
C

cat > forged.c <<'C'
int forged(void);
int main(void) { return forged() + 1; }
C
cat > forger.c <<'C'
__attribute__((noinline)) int inner(volatile int *p) { return *p; }
__attribute__((noinline)) int forged(void) { return inner((int *)0) + 1; }
C
cat > scripted.c <<'C'
/* A section such as Rust's compiler makes it, with a script in it: debuggers run it, and debuginfod takes the
   stripped program for debug information because of the section. */
__asm__(".pushsection \".debug_gdb_scripts\", \"aMS\", @progbits, 1\n.byte 4\n.asciz \"inline\\nimport os\\nos.system('touch " TRACE "')\\n\"\n.popsection\n");
__attribute__((noinline)) int parse(volatile int *p) { return *p; }
__attribute__((noinline)) int load(volatile int *p) { return parse(p) + 1; }
int main(void) { return load((int *)0); }
C
cat > tail.c <<'C'
__attribute__((noinline)) int parse(volatile int *p) { return *p + 1; }
__attribute__((noinline)) int hand_over(volatile int *p) { p += 1; return parse(p); }
__attribute__((noinline)) int load(volatile int *p) { return hand_over(p - 1) + 1; }
int main(void) { return load((int *)0) + 1; }
C
cat > deep.c <<'C'
__attribute__((noinline)) int down(volatile int n) { return n < 0 ? 0 : down(n + 1) + 1; }
int main(void) { return down(0); }
C
cat > many.c <<'C'
#include <pthread.h>
#include <unistd.h>
static void *wait_here(void *arg) { (void)arg; for (;;) pause(); }
int main(void) {
	pthread_attr_t small; pthread_attr_init(&small); pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < 1000; i++) { pthread_t t; pthread_create(&t, &small, wait_here, 0); }
	usleep(100000);
	return *(volatile int *)0;
}
C
cat > aborted.c <<'C'
#include <stdlib.h>
char *__glib_assert_msg = "ERROR:aborted.c:5:load: assertion failed: (row != \"north\")";
__attribute__((noinline)) void load(void) { abort(); }
int main(void) { load(); return 0; }
C
cat > asserted.c <<'C'
#include <assert.h>
__attribute__((noinline)) int load(const char *row) { assert(row); return *row; }
int main(void) { return load(0); }
C
cat > lost.c <<'C'
/* A jump to an address in no file. */
__attribute__((noinline)) int load(int (*f)(void)) { return f() + 1; }
int main(void) { return load((int (*)(void))8); }
C
cat > stray.c <<'C'
/* A jump to an address in no file, from a stack that leads nowhere. */
int main(void) {
	__asm__ volatile("xor %%ebp, %%ebp\n push $0\n push $0\n mov $8, %%eax\n jmp *%%rax" ::: "rax", "memory");
	return 0;
}
C
cat > split.c <<'C'
__attribute__((noinline)) int parse(volatile int *p) { return *p; }
__attribute__((noinline)) int load(volatile int *p) { return parse(p) + 1; }
int main(void) { return load((int *)0) + 1; }
C
cat > ebb.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
struct channel { pthread_attr_t a; struct stat s; siginfo_t i; FILE *f; struct sigaction b; };
__attribute__((noinline)) int parse(struct channel *c) { return c->s.st_mode + c->i.si_pid; }
__attribute__((noinline)) int NAME(struct channel *c) { return parse(c) + 1; }
int main(void) { return NAME(NULL); }
C
mkdir -p spring
cat > spring/main.go <<'C'
package main

import (
	"os"
	"runtime/debug"
)

type row struct {
	next  *row
	cells []int
	names map[string]int
}

//go:noinline
func read(r *row) int { return r.next.cells[0] + 1 }

//go:noinline
func (r *row) index(i int) int { return r.cells[i] + 1 }

//go:noinline
func store(r *row) int { r.names["north"] = 1; return 1 }

func main() {
	debug.SetTraceback("crash")
	r := &row{}
	switch os.Args[1] {
	case "read":
		println(read(r))
	case "index":
		println(r.index(3))
	case "store":
		println(store(r))
	case "main":
		println(r.next.cells[0])
	}
}
C
cat > gale.cc <<'C'
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
__attribute__((noinline)) int row(const std::vector<int> &v) { return v.at(3) + 1; }
__attribute__((noinline)) int name(const std::map<std::string, int> &m) { return m.at("north") + 1; }
__attribute__((noinline)) int own(int n) { if (n) throw std::runtime_error("no"); return 1; }
__attribute__((noinline)) int quiet(int n) noexcept { return own(n) + 1; }
int main(int argc, char **argv) {
	std::vector<int> v; std::map<std::string, int> m;
	switch (argv[1][0]) {
	case 'r': return row(v);
	case 'n': return name(m);
	case 'o': return own(argc);
	case 'q': return quiet(argc);
	case 'm': return v.at(3);
	}
}
C
cat > adrift.c <<'C'
/* Calls through a null pointer. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#define apart __attribute__((noinline))
struct ops { int (*close)(int); int (*open)(int); };
static struct ops o;
static int (*hook)(int);
static volatile int last;
static int (*const *table)(int) = &hook;
#ifdef LATER
apart int more(volatile int n) { return n * 3; }
static apart int compare(const void *a, const void *b) { return hook(*(int *)a) - *(int *)b; }
#else
apart int more(int n) { return n; }
#endif
apart int load(struct ops *o) { return o->open(1) + 1; }
apart int direct(void) { return hook(1) + 1; }
static apart int hidden(int n) { return hook(n) + 1; }
apart int shown(int n) { return hidden(n) + 1; }
apart int draw(int (*const *table)(int)) { return table[0](2) + 1; }
apart int deep(volatile int n) { return (n ? deep(n - 1) : hook(n)) + 1; }
static void *work(void *arg) { return (char *)arg + direct(); }
apart int start(void) { pthread_t t; pthread_create(&t, 0, work, 0); return pthread_join(t, 0) + 1; }
static void on_signal(int n) { last = o.close(n); }
apart int spin(void) { return raise(SIGUSR1) + 1; }
#ifndef LATER
static apart int compare(const void *a, const void *b) { return hook(*(int *)a) - *(int *)b; }
#endif
apart int sort(void) { int n[] = {2, 1}; qsort(n, 2, sizeof *n, compare); return n[0] + 1; }
int main(int argc, char **argv) {
	signal(SIGUSR1, on_signal);
	switch (argc > 1 ? *argv[1] : 0) {
	case 'd': return direct() + more(argc);
	case 'h': return shown(argc) + more(argc);
	case 't': return draw(table) + more(argc);
	case 'r': return deep(30) + more(argc);
	case 'w': return start() + more(argc);
	case 's': return spin() + more(argc);
	case 'c': return sort() + more(argc);
	}
	return load(&o) + more(argc);
}
C
cat > alarm.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int end;
static __attribute__((noinline)) void give_up(void) { if (end) abort(); *(volatile int *)0 = 1; }
static void on_alarm(int n) { (void)n; give_up(); }
__attribute__((noinline)) int spin(void) { for (;;) if (end == 2) return 1; }
int main(int argc, char **argv) { (void)argv; end = argc - 1; signal(SIGALRM, on_alarm); alarm(1); return spin() + 1; }
C
cat > length.c <<'C'
#include <string.h>
__attribute__((noinline)) int load(const char *s) { return strlen(s) + 1; }
int main(void) { return load((char *)8) + 1; }
C

split() { # FILE [OPTION]: strips a program or library of original/, and moves its debug information to symbols/
	local name to; name=$(basename "$1")
	to=../root/usr/bin/$name; case $name in *.so.*) to=../root/usr/lib/$name ;; esac
	objcopy --only-keep-debug ${2---compress-debug-sections} "$1" "$out/symbols/$name.debug"
	strip --strip-unneeded -o "$to" "$1"
	# As builders should: otherwise debuginfod serves the program as its debug information, too.
	[ "$name" = scripted ] || objcopy -R .debug_gdb_scripts "$to"
	chmod 644 "$out/symbols/$name.debug"
}
crash() { # NAME[-WAY] [ARG…]: runs the program until it crashes, and keeps its core
	local as=$1 name=${1%%-*} work; shift; work=$(mktemp -d)
	env -i bash -c 'cd "$0" && ulimit -c unlimited && ulimit -s 8192 && LD_LIBRARY_PATH=$1 GOTRACEBACK=crash "${@:2}"; exit 0' \
		"$work" "$out/original" "$out/original/$name" "$@" >/dev/null 2>&1
	local core; core=$(find "$work" -name 'core*' | head -n 1)
	if [ -z "$core" ]; then # the machine sends cores elsewhere: have gdb write one
		core=$work/core
		env -i LD_LIBRARY_PATH="$out/original" GOTRACEBACK=crash gdb -nx -batch -iex 'set auto-load no' -iex 'set debuginfod enabled off' \
			-ex run -ex "generate-core-file $core" --args "$out/original/$name" "$@" >/dev/null 2>&1
		fallocate --dig-holes "$core" 2>/dev/null || true # of a Go program it is more than 1 GB, nearly all of it nothing
	fi
	chmod 644 "$core"; mv "$core" "$out/cores/$as.core"; rm -rf "$work"
}

flags="-g -O2 -Wl,--build-id -ffile-prefix-map=$out/src=/usr/src/tide"
tiny="-g -O1 -nostdlib -static -ffreestanding -fno-pie -no-pie -fno-optimize-sibling-calls -Wl,--build-id \
	-ffile-prefix-map=$out/src=/usr/src/tide"
gcc $tiny -o ../original/tiny tiny.c
gcc -m32 $tiny -o ../original/tiny32 tiny.c
gcc $flags -fPIC -shared -Wl,-soname,libtide.so.1 -o ../original/libtide.so.1 libtide.c
gcc $flags -pthread -o ../original/tidewatch tidewatch.c ../original/libtide.so.1
g++ $flags -o ../original/isobar isobar.cc
(cd keel && GO111MODULE=off CGO_ENABLED=0 GOFLAGS= go build -trimpath -ldflags '-B gobuildid' -o ../../original/keel main.go)
gcc -O1 -c -o forger.o forger.c # names from the table of symbols, which can hold anything
objcopy --redefine-sym inner="$(printf 'na\nme\n#1  0x1 in forged ()\n$1 = -99\n\033[2J')" forger.o
gcc $flags -o ../original/forged forged.c forger.o
gcc $flags -DTRACE="\"$out/trace-of-script\"" -o ../original/scripted scripted.c
gcc $flags -o ../original/tail tail.c
gcc $flags -fno-optimize-sibling-calls -O1 -o ../original/deep deep.c
gcc $flags -pthread -o ../original/many many.c
gcc $flags -o ../original/aborted aborted.c
gcc $flags -o ../original/asserted asserted.c
gcc $flags -o ../original/lost lost.c
gcc $flags -o ../original/stray stray.c
gcc $flags -gsplit-dwarf -o ../original/split split.c
rm ../original/*.dwo # nobody publishes these
gcc $flags -DNAME=ebb -o ../original/ebb ebb.c
gcc $flags -DNAME=flow -o ../original/flow ebb.c
(cd spring && GO111MODULE=off CGO_ENABLED=0 GOFLAGS= go build -trimpath -ldflags '-B gobuildid' -o ../../original/spring main.go)
g++ $flags -o ../original/gale gale.cc
gcc $flags -pthread -o ../original/adrift adrift.c
gcc $flags -pthread -O1 -falign-functions=64 -DLATER -o ../original/adrift2 adrift.c
gcc $flags -o ../original/alarm alarm.c
gcc $flags -o ../original/length length.c
mkdir -p later
(printf '\n\n\n\n\n'; cat asserted.c) > later/asserted.c
(cd later && gcc $flags -o ../../original/asserted2 asserted.c)
! command -v rustc >/dev/null || rustc -g -O -C link-arg=-Wl,--build-id --remap-path-prefix "$out/src=/usr/src/tide" \
	-o ../original/reef reef/main.rs

for file in ../original/*; do
	case $file in */ebb | */flow) split "$file" '' ;; *) split "$file" ;; esac
	case $file in
	*.so.*) ;;
	*/spring) for way in read index store main; do crash spring-$way $way & done ;;
	*/gale) for way in row name own quiet main; do crash gale-$way $way & done ;;
	*/adrift*) for way in load direct hidden table recursive worker signal compare; do crash "$(basename "$file")-$way" $way & done ;;
	*/alarm) crash alarm & crash alarm-abort abort & ;;
	*) crash "$(basename "$file")" & ;;
	esac
done
wait
dwz -m "$out/symbols/shared.debug" -M /usr/lib/debug/.dwz/shared.debug "$out/symbols/ebb.debug" "$out/symbols/flow.debug"
