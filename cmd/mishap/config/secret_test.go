package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"mishap/crash"
)

// TestSecretStaysHidden checks that no way of printing a configuration reveals a secret.
func TestSecretStaysHidden(t *testing.T) {
	t.Parallel()
	const hush = "hush-never-printed" // not a number: times and ports may contain short numbers
	c := Default()
	c.DatabaseURL, c.TrackerOAuthToken, c.TrackerOAuthSecret = hush, hush, hush
	var out bytes.Buffer
	for _, v := range []any{c, &c, c.TrackerOAuthSecret, &c.TrackerOAuthSecret, []crash.Secret{c.DatabaseURL},
		map[string]crash.Secret{"k": c.DatabaseURL}} {
		for _, verb := range "vsqxXdtfcUTeEgbo" {
			for _, flags := range []string{"", "+", "#", "-20", "20", " "} {
				fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
			}
		}
		fmt.Fprintln(&out, v)
		doc, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(doc)
		for _, h := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
			slog.New(h).Info("config", "v", v, slog.Group("g", "v", v))
			slog.New(h).With("v", v).Error("config", "err", errors.Join(fmt.Errorf("%v", v)))
		}
	}
	fmt.Fprintf(&out, "%s %#v", c.TrackerOAuthSecret, c.TrackerOAuthSecret)
	hex := fmt.Sprintf("%x", hush)
	for _, leak := range []string{hush, "never-printed", hex, strings.ToUpper(hex)} {
		if strings.Contains(out.String(), leak) {
			at := strings.Index(out.String(), leak)
			t.Errorf("printed configuration: got %q in %q", leak, out.String()[max(0, at-60):at+len(leak)])
		}
	}
	if !strings.Contains(out.String(), "[secret]") {
		t.Errorf("printed configuration: got no %s", "[secret]")
	}
}
