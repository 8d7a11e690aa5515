package dbtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// ArchiveProxy is between a database and its archive. It can stop forwarding, as a server does that hangs.
type ArchiveProxy struct {
	hangs atomic.Bool
	at    atomic.Pointer[string]
	ends  context.Context
}

// WithProxy makes the database at address reach its archive, see [WithArchive], through a proxy.
func WithProxy(t testing.TB, address, archive string) *ArchiveProxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &ArchiveProxy{ends: ctx}
	to := Must(pgx.ParseConfig(archive))(t)
	network, target := "tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port))
	if strings.HasPrefix(to.Host, "/") {
		network, target = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", to.Host, to.Port)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() { p.serve(client, network, target) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		end()
		serving.Wait()
	})
	host, port, _ := net.SplitHostPort(l.Addr().String())
	Exec(t, address, fmt.Sprintf("alter server archive_old options (set host '%s', set port '%s')", host, port))
	return p
}

// Hang makes the proxy forward nothing any more, on no connection. It accepts new ones.
func (p *ArchiveProxy) Hang() { p.hangs.Store(true) }

// HangAt makes it hang as soon as the database sends a text.
func (p *ArchiveProxy) HangAt(text string) { p.at.Store(&text) }

func (p *ArchiveProxy) serve(client net.Conn, network, target string) {
	defer context.AfterFunc(p.ends, func() { _ = client.Close() })()
	defer client.Close() //nolint:errcheck // its result does not matter
	server, err := (&net.Dialer{}).DialContext(p.ends, network, target)
	if err != nil {
		return
	}
	defer context.AfterFunc(p.ends, func() { _ = server.Close() })()
	var both sync.WaitGroup
	both.Go(func() { p.forward(server, client, true) })
	both.Go(func() { p.forward(client, server, false) })
	both.Wait()
}

// forward copies until either side ends, and then closes both.
func (p *ArchiveProxy) forward(to io.WriteCloser, from io.ReadCloser, isQuery bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if at := p.at.Load(); isQuery && at != nil && bytes.Contains(buffer[:n], []byte(*at)) {
			p.Hang()
		}
		if p.hangs.Load() {
			<-p.ends.Done()
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}
