package backup

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	able := server{size: 1, role: "app", mayReplicate: true}
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
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, notice, err := tt.server.choose(tt.method)
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
