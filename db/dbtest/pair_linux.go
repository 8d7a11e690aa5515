package dbtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash/checktest"
)

// Pair is a primary PostgreSQL server and a synchronous standby, on TCP ports of this machine.
// Tests kill, freeze and promote them. They stop with the test, or soon after a test process that
// is killed.
type Pair struct {
	t     testing.TB
	dir   string
	bin   string // directory of the server programs
	cred  *syscall.Credential
	nodes [2]*node
	first int // index of the primary in nodes
}

type node struct {
	port string
	data string
	cmd  *exec.Cmd
}

const pairDatabase = "mishap"

// pairSettings are the settings of both servers. Killed processes lose no written data, so fsync is
// unnecessary.
var pairSettings = []string{
	"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=60", "shared_buffers=64MB",
	"wal_level=replica", "hot_standby=on", "max_wal_senders=6", "wal_keep_size=256MB", "wal_receiver_timeout=5s",
	"wal_sender_timeout=5s",
}

// StartPair starts a primary with an empty database, and its standby.
func StartPair(t testing.TB) *Pair {
	t.Helper()
	checktest.Needs(t, "PostgreSQL")
	p := &Pair{t: t, bin: serverPrograms(t)}
	var err error
	if p.dir, err = os.MkdirTemp("", "mishap-pair-"); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		p.cred = unprivilegedUser(t)
		if err := os.Chown(p.dir, int(p.cred.Uid), int(p.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	p.removeAfter()
	for i := range p.nodes {
		p.nodes[i] = &node{port: freePort(t), data: filepath.Join(p.dir, strconv.Itoa(i))}
	}
	p.run("initdb", "--pgdata="+p.nodes[0].data, "--username=mishap", "--auth=trust", "--encoding=UTF8",
		"--locale=C.UTF-8", "--no-sync", "--no-instructions")
	p.start(0)
	p.exec(0, "create database "+pairDatabase)
	p.AddStandby()
	return p
}

// URL returns the address of the database, with both servers.
func (p *Pair) URL() string {
	return fmt.Sprintf("postgres://mishap@127.0.0.1:%s,127.0.0.1:%s/%s?sslmode=disable&target_session_attrs=read-write",
		p.nodes[0].port, p.nodes[1].port, pairDatabase)
}

// PrimaryURL returns the address of the database on the present primary.
func (p *Pair) PrimaryURL() string { return p.url(p.first, pairDatabase) }

// StandbyURL returns the address of the database on the other server.
func (p *Pair) StandbyURL() string { return p.url(1-p.first, pairDatabase) }

func (p *Pair) url(i int, database string) string {
	return fmt.Sprintf("postgres://mishap@127.0.0.1:%s/%s?sslmode=disable", p.nodes[i].port, database)
}

// AddStandby recreates the other server as a synchronous standby of the primary.
func (p *Pair) AddStandby() {
	p.t.Helper()
	n := p.nodes[1-p.first]
	if err := os.RemoveAll(n.data); err != nil {
		p.t.Fatal(err)
	}
	p.exec(p.first, "alter system reset synchronous_standby_names")
	p.run("pg_basebackup", "--dbname="+p.url(p.first, "postgres"), "--pgdata="+n.data, "--write-recovery-conf",
		"--checkpoint=fast", "--no-sync")
	p.start(1 - p.first)
	p.exec(p.first, "alter system set synchronous_standby_names = '*'")
	p.exec(p.first, "select pg_reload_conf()")
	p.waitFor("the standby confirms commits", func() bool {
		return p.ask(p.first, "select count(*) from pg_stat_replication where sync_state = 'sync'") == "1"
	})
}

// DropStandby stops the standby. Commits no longer wait for it.
func (p *Pair) DropStandby() {
	p.t.Helper()
	p.exec(p.first, "alter system reset synchronous_standby_names")
	p.exec(p.first, "select pg_reload_conf()")
	p.kill(1 - p.first)
}

// KillPrimary kills all processes of the primary with SIGKILL, like a power failure.
func (p *Pair) KillPrimary() {
	p.t.Helper()
	p.kill(p.first)
}

// FreezePrimary stops all processes of the primary with SIGSTOP. Connections stay open, but get no
// response.
func (p *Pair) FreezePrimary() {
	p.t.Helper()
	p.signal(p.first, syscall.SIGSTOP)
}

// StopPrimary stops the primary cleanly, after the standby has received everything.
func (p *Pair) StopPrimary() {
	p.t.Helper()
	p.stop(p.first)
}

// Promote makes the standby the primary, with what it had received if it was dropped. The old primary must not
// continue; use KillOther if it is frozen.
func (p *Pair) Promote() {
	p.t.Helper()
	if p.nodes[1-p.first].cmd == nil {
		p.start(1 - p.first)
	}
	p.run("pg_ctl", "promote", "--pgdata="+p.nodes[1-p.first].data, "--wait")
	p.first = 1 - p.first
}

// KillOther kills the server that is not the primary.
func (p *Pair) KillOther() {
	p.t.Helper()
	p.kill(1 - p.first)
}

// Backup copies the primary's files. The returned function restarts the primary with that copy.
func (p *Pair) Backup() (restore func()) {
	p.t.Helper()
	copied := filepath.Join(p.dir, "backup")
	if err := os.RemoveAll(copied); err != nil {
		p.t.Fatal(err)
	}
	p.run("pg_basebackup", "--dbname="+p.url(p.first, "postgres"), "--pgdata="+copied, "--checkpoint=fast", "--no-sync")
	return func() {
		p.t.Helper()
		p.stop(p.first)
		n := p.nodes[p.first]
		if err := os.RemoveAll(n.data); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Rename(copied, n.data); err != nil {
			p.t.Fatal(err)
		}
		p.start(p.first)
	}
}

func (p *Pair) start(i int) {
	p.t.Helper()
	n := p.nodes[i]
	args := []string{"-D", n.data, "-p", n.port}
	for _, s := range pairSettings {
		args = append(args, "-c", s)
	}
	n.cmd = p.command("postgres", args...)
	log, err := os.OpenFile(filepath.Join(p.dir, "log"+strconv.Itoa(i)), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	n.cmd.Stdout, n.cmd.Stderr = log, log
	if err := n.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.waitFor("PostgreSQL answers on port "+n.port, func() bool { return p.ask(i, "select 1") == "1" })
}

// processes returns the process ids of the postmaster and its children.
func (p *Pair) processes(i int) []int {
	p.t.Helper()
	n := p.nodes[i]
	if n.cmd == nil {
		return nil
	}
	pids := []int{n.cmd.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range stats {
		text, err := os.ReadFile(path)
		_, rest, ok := bytes.Cut(text, []byte(") "))
		if fields := bytes.Fields(rest); err == nil && ok && len(fields) > 1 && string(fields[1]) == strconv.Itoa(pids[0]) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (p *Pair) signal(i int, s syscall.Signal) {
	p.t.Helper()
	for _, pid := range p.processes(i) {
		_ = syscall.Kill(pid, s) // it may have ended in the meantime
	}
}

func (p *Pair) kill(i int) {
	p.t.Helper()
	p.signal(i, syscall.SIGSTOP) // none may continue while others are gone
	p.signal(i, syscall.SIGKILL)
	p.wait(i)
}

func (p *Pair) stop(i int) {
	p.t.Helper()
	if n := p.nodes[i]; n.cmd != nil {
		_ = n.cmd.Process.Signal(syscall.SIGINT) // see wait
	}
	p.wait(i)
}

func (p *Pair) wait(i int) {
	if n := p.nodes[i]; n.cmd != nil {
		_ = n.cmd.Wait() // its log contains the exit status
		n.cmd = nil
	}
}

func (p *Pair) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, program), args...) //nolint:noctx // servers outlive contexts
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.cred}
	return cmd
}

func (p *Pair) run(program string, args ...string) {
	p.t.Helper()
	if out, err := p.command(program, args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// exec runs a statement in the database "postgres" of a node.
func (p *Pair) exec(i int, sql string) {
	p.t.Helper()
	Exec(p.t, p.url(i, "postgres"), sql)
}

// ask returns the text that a statement selects, or "" if the server does not answer.
func (p *Pair) ask(i int, sql string) (text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.url(i, "postgres"))
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, "select ("+sql+")::text").Scan(&text); err != nil {
		return ""
	}
	return text
}

func (p *Pair) waitFor(what string, holds func() bool) {
	p.t.Helper()
	tick, limit := time.NewTicker(20*time.Millisecond), time.After(2*time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			p.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// removePair waits for the end of its standard input, then kills the servers in a directory and
// removes it.
const removePair = `cat >/dev/null
for f in "$1"/*/postmaster.pid; do pid=$(head -n 1 "$f" 2>/dev/null) && kill -KILL "$pid" 2>/dev/null; done
sleep 1; rm -rf "$1"`

// removeAfter stops the servers at the end of the test. It uses a shell, which survives the end of
// this process.
func (p *Pair) removeAfter() {
	p.t.Helper()
	ended, alive, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", removePair, "sh", p.dir) //nolint:noctx // it must outlive us
	cmd.Stdin = ended
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	_ = ended.Close()
	p.t.Cleanup(func() {
		for i := range p.nodes {
			if p.nodes[i] != nil && p.nodes[i].cmd != nil {
				p.kill(i)
			}
		}
		_ = alive.Close()
		_ = cmd.Wait() // the shell has removed the directory
	})
}

// serverPrograms returns the directory of the newest server programs, including pg_basebackup.
func serverPrograms(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_basebackup")        // Debian, Ubuntu
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil { //nolint:noctx // it ends by itself
		found = append(found, filepath.Join(strings.TrimSpace(string(out)), "pg_basebackup"))
	}
	found = slices.DeleteFunc(found, func(path string) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(path), "postgres"))
		return err != nil
	})
	if len(found) == 0 {
		t.Fatal("no PostgreSQL server programs with pg_basebackup were found; install PostgreSQL 15 or newer")
	}
	return filepath.Dir(found[len(found)-1])
}

func unprivilegedUser(t testing.TB) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Fatal("this machine has no user postgres or nobody to run PostgreSQL as")
	return nil
}

func freePort(t testing.TB) string {
	t.Helper()
	address, err := checktest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
