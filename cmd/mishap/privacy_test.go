package main

import (
	"strings"
	"testing"
)

func TestPrivacyCommand(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	oldReports(t, p, 5) // besides the one that is there
	out := p.command(t, "privacy", "check")
	if !strings.Contains(out, "Of 6 reports, 0 have secret fields and 6 have private fields.") ||
		!strings.Contains(out, "private  6  UserGroups") {
		t.Errorf("check: got %s, want 6 reports with private fields", out)
	}
	p.environ = append(p.environ, "MISHAP_PRIVACY_FIELDS=UserGroups=secret")
	if out = p.command(t, "privacy", "table"); !strings.Contains(out, "UserGroups") || !strings.Contains(out, "secret") {
		t.Errorf("table: got %s, want the changed row", out)
	}
	if out = p.command(t, "privacy", "check"); !strings.Contains(out, "6 have secret fields") ||
		!strings.Contains(out, "secret   6  UserGroups") {
		t.Errorf("check with a secret field: got %s, want 6 reports with it", out)
	}
	if out = p.command(t, "privacy", "check", "--apply"); !strings.Contains(out, "Removed secret fields from 6 of 6") {
		t.Errorf("apply: got %s, want the field removed from 6 reports", out)
	}
	if out = p.command(t, "privacy", "check"); !strings.Contains(out, "0 have secret fields") {
		t.Errorf("check afterwards: got %s, want no secret fields", out)
	}
	p.command(t, "check", "--all")

	// The command inspect names the fields that would be dropped.
	files := samples(t)
	p.environ = append(p.environ, "MISHAP_PRIVACY_FIELDS=Uname=secret")
	if out = p.command(t, "inspect", "testdata/crashes/"+files[0].File); !strings.Contains(out, "dropped fields") {
		t.Errorf("inspect: got %s, want the dropped field", out)
	}

	// An impossible class stops the program, whatever the command.
	for _, wrong := range []string{"Package=secret", "X=hidden", "*=secret", "UserGroups=public"} {
		status, _, stderr := runIn(t.Context(), nil, append(p.environ, "MISHAP_PRIVACY_FIELDS="+wrong), "check", noConfig(t))
		if status == exitOK || !strings.Contains(stderr, "PRIVACY_FIELDS") {
			t.Errorf("%s: got status %d, %s; want a refusal that names the key", wrong, status, stderr)
		}
	}
}
