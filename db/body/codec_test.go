package body

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	c := NewCodec()
	for name, f := range map[string]crash.Fields{
		"none":  {},
		"usual": crashtest.Native().Fields(),
		"long":  crashtest.Long().Fields(),
		"odd":   {"": "no name", "Empty": "", "NUL": "a\x00b", "Text": "ż\u2028"},
		"large": {"Large": strings.Repeat("All work and no play. ", 1<<18)},
	} {
		body := c.Compress(f)
		got, err := c.Decompress(body)
		if err != nil || !maps.Equal(got, f) {
			t.Errorf("%s: got %d fields, %v; want the %d that were packed", name, len(got), err, len(f))
		}
	}
}

func TestDamagedBodies(t *testing.T) {
	t.Parallel()
	c := NewCodec()
	body := c.Compress(crashtest.Native().Fields())
	for end := range body {
		if f, err := c.Decompress(body[:end]); err == nil {
			t.Fatalf("cut after %d bytes: got %d fields, want an error", end, len(f))
		}
	}
	huge := []byte{bodyFormat, 0xff, 0xff, 0xff, 0xff, 0x0f}
	if _, err := c.Decompress(huge); err == nil {
		t.Error("a body that says to be 4 GB: got no error")
	}
	if _, err := c.Decompress(slices.Concat([]byte{bodyFormat + 1}, body[1:])); err == nil {
		t.Error("a body of another form: got no error")
	}
}
