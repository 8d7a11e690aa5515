package db

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mishap/crash"
)

// TestSocketOptions reads the options of sockets from the kernel.
func TestSocketOptions(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	server := l.Addr().String()
	for _, tt := range []struct {
		parameters                       string
		alive, idle, interval, count, ut int
	}{
		{"", 1, 10, 5, 2, 10_000},
		{"?keepalives_idle=30&keepalives_interval=7&keepalives_count=4&tcp_user_timeout=2500", 1, 30, 7, 4, 2500},
		{"?keepalives=0&tcp_user_timeout=0", 0, 7200, 75, 9, 0},
	} {
		pc, err := ParseURL("postgres://" + server + "/mishap" + tt.parameters)
		if err != nil {
			t.Fatal(err)
		}
		if len(pc.ConnConfig.RuntimeParams) > 0 {
			t.Errorf("%s: got the server settings %v, want none", tt.parameters, pc.ConnConfig.RuntimeParams)
		}
		conn, err := pc.ConnConfig.DialFunc(t.Context(), "tcp", server)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := conn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		err = raw.Control(func(fd uintptr) {
			for name, option := range map[string][2]int{
				"alive": {unix.SOL_SOCKET, unix.SO_KEEPALIVE}, "idle": {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
				"interval": {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, "count": {unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
				"user timeout": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT},
			} {
				value, err := unix.GetsockoptInt(int(fd), option[0], option[1])
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				got[name] = value
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"alive": tt.alive, "user timeout": tt.ut}
		if tt.alive == 1 {
			want["idle"], want["interval"], want["count"] = tt.idle, tt.interval, tt.count
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%q: %s: got %d, want %d", tt.parameters, name, got[name], value)
			}
		}
		_ = conn.Close()
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct {
		seconds  int
		anything bool // accepts any server, not only a primary
	}{
		"postgres://a,b/mishap":                               {3, false},
		"postgres://a,b/mishap?connect_timeout=7":             {7, false},
		"postgres://a/mishap?target_session_attrs=any":        {3, true},
		"postgres:///mishap?host=/run/postgresql":             {3, false},
		"host=a dbname=mishap connect_timeout = 7":            {7, false},
		"postgres://a/mishap?target_session_attrs=read-write": {3, false},
	} {
		pc, err := ParseURL(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := seconds(pc.ConnConfig.ConnectTimeout); got != want.seconds {
			t.Errorf("%s: got a connect timeout of %d s, want %d", address, got, want.seconds)
		}
		if got := pc.ConnConfig.ValidateConnect == nil; got != want.anything {
			t.Errorf("%s: takes any server: got %v, want %v", address, got, want.anything)
		}
	}
	for _, address := range []string{"postgres://a/mishap?tcp_user_timeout=10s", "postgres://a/mishap?keepalives_idle=-1",
		"postgres://a:b:c/", "nonsense"} {
		if _, err := ParseURL(address); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%s: got %v, want invalid", address, err)
		}
	}
}
