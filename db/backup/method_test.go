package backup

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	able := server{major: 17, size: 1, role: "app", mayReplicate: true, summarises: true}
	with := func(change func(*server)) server {
		s := able
		change(&s)
		return s
	}
	large := with(func(s *server) { s.size = baseFrom })
	tests := []struct {
		name         string
		server       server
		method       Method
		incremental  bool
		want         Method
		notice, fail string
	}{
		{name: "small", server: able, method: Auto, want: Dump},
		{name: "large", server: large, method: Auto, want: Base},
		{name: "large, wanted dump", server: large, method: Dump, want: Dump},
		{name: "small, wanted base", server: able, method: Base, want: Base},
		{name: "large without the right", server: with(func(s *server) { s.size, s.mayReplicate = baseFrom, false }),
			method: Auto, want: Dump, notice: `let an administrator of PostgreSQL run "alter role "app" with replication"`},
		{name: "beside larger databases", server: with(func(s *server) { s.size, s.others = baseFrom, baseFrom+1 }),
			method: Auto, want: Dump},
		{name: "base without the right", server: with(func(s *server) { s.mayReplicate = false }), method: Base,
			fail: "may not make base backups"},
		{name: "tablespaces", server: with(func(s *server) { s.hasTablespaces = true }), method: Base, fail: "tablespaces"},
		{name: "incremental", server: able, method: Auto, incremental: true, want: Base},
		{name: "incremental with an old server", server: with(func(s *server) { s.major = 15 }), method: Auto,
			incremental: true, fail: "The server is PostgreSQL 15, and incremental backups need PostgreSQL 17 or newer"},
		{name: "incremental without summaries", server: with(func(s *server) { s.summarises = false }), method: Auto,
			incremental: true, fail: "alter system set summarize_wal = on"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, notice, err := tt.server.choose(tt.method, tt.incremental)
			switch {
			case tt.fail != "":
				if err == nil || !strings.Contains(err.Error(), tt.fail) {
					t.Errorf("got %v, want %q", err, tt.fail)
				}
			case err != nil || got != tt.want:
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			case notice == "" && tt.notice != "" || !strings.Contains(notice, tt.notice):
				t.Errorf("got notice %q, want %q", notice, tt.notice)
			}
		})
	}
}

// TestChains checks that a backup is kept as long as a newer one is based on it, and that a chain ends.
func TestChains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"mishap-20260101T000000Z", "mishap-20260102T000000Z", "mishap-20260103T000000Z",
		"mishap-20260104T000000Z", "mishap-20260105T000000Z"}
	write := func(name, basedOn string) {
		t.Helper()
		m := Manifest{Format: manifestFormat, Method: Base, PostgreSQL: 17}
		if basedOn != "" {
			_, sum, err := read(filepath.Join(dir, basedOn))
			if err != nil {
				t.Fatal(err)
			}
			m.BasedOn, m.BasedOnSum = basedOn, sum
		}
		path := filepath.Join(dir, name)
		if err := writeFile(filepath.Join(path, databaseName, baseArchive), []byte("content")); err != nil {
			t.Fatal(err)
		}
		m.Files = []File{{Path: "database/" + baseArchive, Size: 7}}
		if err := m.write(path); err != nil {
			t.Fatal(err)
		}
	}
	write(names[0], "")
	write(names[1], "")
	write(names[2], names[1])
	write(names[3], names[2])
	write(names[4], "")
	var r Result
	if err := r.deleteOld(t.Context(), folder(dir), 2); err != nil || len(r.Damaged) > 0 ||
		!slices.Equal(r.Deleted, names[:1]) {
		t.Errorf("deleted %v, damaged %v, %v; want only %s deleted", r.Deleted, r.Damaged, err, names[0])
	}
	if base, err := last(t.Context(), folder(dir), 16); err != nil || base != nil {
		t.Errorf("another version of PostgreSQL: got %v, %v, want none", base, err)
	}
	previous := names[4]
	for _, name := range []string{"mishap-20260106T000000Z", "mishap-20260107T000000Z", "mishap-20260108T000000Z",
		"mishap-20260109T000000Z", "mishap-20260110T000000Z", "mishap-20260111T000000Z"} {
		if base, err := last(t.Context(), folder(dir), 17); err != nil || base == nil || base.name != previous {
			t.Errorf("got %v, %v, want %s", base, err, previous)
		}
		write(name, previous)
		previous = name
	}
	if base, err := last(t.Context(), folder(dir), 17); err != nil || base != nil {
		t.Errorf("after %d backups: got %v, %v, want none", chainMax, base, err)
	}
	m, err := Read(filepath.Join(dir, previous))
	if err != nil {
		t.Fatal(err)
	}
	if chain, err := m.Chain(filepath.Join(dir, previous)); err != nil || len(chain) != chainMax ||
		filepath.Base(chain[0]) != names[4] {
		t.Errorf("chain: got %v, %v", chain, err)
	}
	r = Result{}
	if err := r.deleteOld(t.Context(), folder(dir), 1); err != nil || len(r.Deleted) != 3 {
		t.Errorf("deleted %v, %v, want the three of the earlier chain", r.Deleted, err)
	}
}
