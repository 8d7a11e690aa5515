package dbtest

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash/checktest"
)

const poolerSettings = `[databases]
%s = host=%s port=%d user=%s%s
[pgbouncer]
unix_socket_dir = %s
auth_type = any
pool_mode = %s
%s
`

// Pooler starts pgbouncer in front of the database at address, in a pool mode and with further settings. It
// returns the address of the database through it. pgbouncer stops with the test.
func Pooler(t testing.TB, address, mode, more string) string {
	t.Helper()
	checktest.Needs(t, "pgbouncer")
	program := "/usr/sbin/pgbouncer" // not in everybody's PATH
	if found, err := exec.LookPath("pgbouncer"); err == nil {
		program = found
	}
	dir := Must(os.MkdirTemp("", "mishap-pooler-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	to := Must(pgx.ParseConfig(address))(t)
	file := filepath.Join(dir, "pgbouncer.ini")
	password := ""
	if to.Password != "" {
		password = " password='" + strings.ReplaceAll(to.Password, "'", "''") + "'"
	}
	text := fmt.Sprintf(poolerSettings, to.Database, to.Host, to.Port, to.User, password, dir, mode, more)
	checktest.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.Command(program, file) //nolint:noctx // Cleanup ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 { // pgbouncer refuses to run as root
		cmd.SysProcAttr.Credential = unprivilegedUser(t)
		for _, path := range []string{dir, file} {
			checktest.NoError(t, os.Chown(path, int(cmd.SysProcAttr.Credential.Uid), int(cmd.SysProcAttr.Credential.Gid)))
		}
	}
	said := bufio.NewScanner(Must(cmd.StderrPipe())(t))
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: install pgbouncer", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	var log strings.Builder
	for ready := false; !ready; ready = strings.Contains(said.Text(), "process up") {
		if !said.Scan() {
			t.Fatalf("pgbouncer does not start: %s", log.String())
		}
		log.WriteString(said.Text() + "\n")
	}
	go func() { // so that it can log more
		for said.Scan() {
		}
	}()
	u := Must(url.Parse(address))(t)
	options := u.Query()
	options.Set("host", dir)
	options.Set("port", "6432")
	u.Host, u.RawQuery = "", options.Encode()
	return u.String()
}
