package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
)

// fakePrograms creates a directory with a postgres program that reports this version.
func fakePrograms(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil { // to be run
			t.Fatal(err)
		}
	}
	return dir
}

func TestChoosePrograms(t *testing.T) {
	t.Parallel()
	v14, v15, v18, again := fakePrograms(t, "14.9"), fakePrograms(t, "15.18 (Debian 15.18-0+deb12u1)"),
		fakePrograms(t, "18beta2"), fakePrograms(t, "15.2")
	half := t.TempDir() // no programs in it
	for _, test := range []struct {
		name    string
		dirs    []string
		cluster string // PG_VERSION; empty: none yet
		want    string // directory, if there is no error
		err     string // part of the sentence
	}{
		{"newest", []string{half, v15, v18, v14}, "", v18, ""},
		{"first of equal ones", []string{v15, again, v15}, "", v15, ""},
		{"of the cluster's version", []string{v18, v15}, "15", v15, ""},
		{"an older cluster is still run", []string{v18, v14}, "14", v14, ""},
		{"none", []string{half, "/nonexistent"}, "", "", "No PostgreSQL server programs were found on this " +
			"machine: install " +
			"PostgreSQL 15 or newer (Debian, Ubuntu: apt-get install postgresql;"},
		{"too old", []string{v14}, "", "", "is version 14: install PostgreSQL 15 or newer"},
		{"the cluster's version is gone", []string{v18}, "15", "", "belongs to PostgreSQL 15, whose server programs were " +
			"not found; install that version (Debian, Ubuntu: apt-get install postgresql-15)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := home{dir: t.TempDir()}
			if test.cluster != "" {
				if err := os.Mkdir(h.cluster(), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(h.cluster(), "PG_VERSION"), []byte(test.cluster+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := choosePrograms(installedIn(t.Context(), test.dirs), h)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || crash.KindOf(err) != crash.Unavailable {
					t.Fatalf("got %v, want unavailable: %s", err, test.err)
				}
				return
			}
			if err != nil || got.dir != test.want {
				t.Errorf("got %v, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	found, err := Find(t.Context(), dir)
	if err != nil || found.Created || found.PID != 0 || found.URL != "" || found.Programs == "" {
		t.Errorf("before the first start: got %+v, %v", found, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("got %v, want that no folder was created", err)
	}
	s := start(t, Config{DataDir: dir, Throwaway: true})
	found, err = Find(t.Context(), dir)
	if err != nil || !found.Created || found.PID != os.Getpid() || found.Dir != s.Dir() {
		t.Errorf("while it runs: got %+v, %v", found, err)
	}
	if got := query(t, found.URL, "select current_user::text"); got != role {
		t.Errorf("got user %s, want %s", got, role)
	}
	stop(t, s)
	if found, err = Find(t.Context(), dir); err != nil || !found.Created || found.PID != 0 || found.URL != "" {
		t.Errorf("after the stop: got %+v, %v", found, err)
	}
	version := filepath.Join(s.home.cluster(), "PG_VERSION")
	if err := os.WriteFile(version, []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), dir); crash.KindOf(err) != crash.Unavailable ||
		!strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("files of another version: got %v", err)
	}
}
