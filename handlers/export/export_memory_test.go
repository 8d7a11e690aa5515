package export

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestExportMemory checks that a list of 300,000 rows (100 MB) is written without being held in
// memory.
func TestExportMemory(t *testing.T) {
	const rows = 300_000
	const most = 8 << 20
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, format := range []string{"csv", "json", "atom"} {
		before, peak, made := heap(), uint64(0), 0
		list := Table{Title: "many", Path: "/", Columns: []string{"n", "text", "at"},
			Rows: func(yield func(Row, error) bool) {
				for i := range rows {
					if made++; i%50_000 == 49_999 {
						peak = max(peak, heap())
					}
					text := strings.Repeat("=x", 150) + fmt.Sprint(i)
					if !yield(Row{Cells: []any{i, text, time.Unix(int64(i), 0)}, Path: fmt.Sprintf("/%d", i), Title: text,
						First: time.Unix(1, 0)}, nil) {
						return
					}
				}
			}}
		out := bufio.NewWriterSize(io.Discard, 32<<10)
		var err error
		switch format {
		case "csv":
			err = writeCSV(out, list)
		case "json":
			err = writeJSONTable(out, list, "https://errors.example")
		case "atom":
			err = writeAtom(out, list, "https://errors.example", "/list.atom", time.Unix(1, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: MaxFeed, false: rows}[format == "atom"]; made != want {
			t.Errorf("%s: got %d rows, want %d", format, made, want)
		}
		if peak > before+most {
			t.Errorf("%s: the heap grew from %d to %d bytes, want growth of at most %d", format, before, peak, most)
		}
	}
}

func TestCSVText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\r\nx": "'\r\nx",
		"＝1": "'＝1", "": "", "a=b": "a=b",
		"nul\x00": "nul\uFFFD",
	} {
		if got := csvText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for cell, want := range map[any]string{int64(-5): "-5", 7: "7", time.Time{}: "",
		time.Unix(0, 0).UTC(): "1970-01-01T00:00:00Z"} {
		if got := csvText(cell); got != want {
			t.Errorf("%v: got %q, want %q", cell, got, want)
		}
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
