package export

import (
	"testing"
	"time"

	"mishap/crash/checktest"
)

func TestCSVText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\r\nx": "'\r\nx",
		"＝1": "'＝1", "": "", "a=b": "a=b",
		"nul\x00": "nul\uFFFD",
	} {
		checktest.Equal(t, text, csvText(text), want)
	}
	for cell, want := range map[any]string{int64(-5): "-5", 7: "7", time.Time{}: "",
		time.Unix(0, 0).UTC(): "1970-01-01T00:00:00Z"} {
		checktest.Equal(t, cell, csvText(cell), want)
	}
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	var v revisions
	now := time.Date(2026, 5, 18, 12, 0, 0, 500, time.UTC)
	first := v.since("1", now)
	if !first.After(now) || first != v.since("1", now.Add(time.Hour)) {
		t.Errorf("got %v, then another revision", first)
	}
	if second := v.since("2", now); !second.After(first) {
		t.Errorf("within the same second: got %v, want after %v", second, first)
	}
}
