package db

import (
	"bytes"
	"testing"

	"mishap/crash"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	const secret, context = crash.Secret("the secret"), "tracker\x00consumer\x00token"
	with := func(password string) []byte {
		t.Helper()
		sealed, err := sealer{password}.Seal(secret, context)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	sealed, open := with("pass"), with("")
	spoilt := bytes.Clone(sealed)
	spoilt[len(spoilt)-1] ^= 1
	tests := []struct {
		name, password string
		sealed         []byte
		context        string
		ok             bool
	}{
		{"same password", "pass", sealed, context, true},
		{"another password", "word", sealed, context, false},
		{"no password", "", sealed, context, false},
		{"sealed without one", "pass", open, context, true},
		{"neither has one", "", open, context, true},
		{"another row", "pass", sealed, context + "x", false},
		{"tampered with", "pass", spoilt, context, false},
		{"cut off", "pass", sealed[:20], context, false},
		{"empty", "pass", nil, context, false},
		{"another form", "pass", append([]byte{9}, sealed[1:]...), context, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := sealer{tt.password}.Open(tt.sealed, tt.context)
			if (err == nil) != tt.ok || tt.ok && got != secret {
				t.Errorf("got %q, %v, want it to open: %v", string(got), err, tt.ok)
			}
		})
	}
	if bytes.Contains(sealed, []byte(secret)) || bytes.Equal(sealed, with("pass")) {
		t.Error("the sealed secret shows the secret, or is the same each time")
	}
}
