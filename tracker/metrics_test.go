package tracker_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"mishap/crash/crashtest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// gathered returns the values of a registry by "name{label=value}". For a histogram, the value is
// the count.
func gathered(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = value(m)
		}
	}
	return out
}

func value(m *dto.Metric) float64 {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	case m.GetHistogram() != nil:
		return float64(m.GetHistogram().GetSampleCount())
	}
	return m.GetGauge().GetValue()
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	registry := prometheus.NewPedanticRegistry()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	u := h.instance(func(c *tracker.Config) { c.Registerer, c.Now = registry, later })
	h.lp.Fail(trackertest.OpCreate, trackertest.Permission)
	for i := range 3 {
		_, _ = u.filer.CreateBug(t.Context(), h.problem(i), tracker.Options{Wait: patience})
	}
	h.lp.Fail(trackertest.OpCreate, trackertest.ExpiredToken)
	_, _ = u.filer.CreateBug(t.Context(), h.problem(3), tracker.Options{Wait: patience})
	got := gathered(t, registry)
	for name, want := range map[string]float64{
		"mishap_filings{state=filed}": 2, "mishap_filings{state=refused}": 1, "mishap_filings{state=queued}": 1,
		"mishap_filings{state=filing}": 0, "mishap_filings{state=uncertain}": 0,
		"mishap_tracker_calls_total{operation=create,outcome=done}":        2,
		"mishap_tracker_calls_total{operation=create,outcome=refused}":     1,
		"mishap_tracker_calls_total{operation=create,outcome=credentials}": 1,
		"mishap_tracker_call_seconds{operation=create}":                    4,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s: got %v (%v), want %v", name, v, ok, want)
		}
	}
	if age := got["mishap_filings_oldest_open_seconds{}"]; age < 3500 || age > 3700 {
		t.Errorf("got %v s for the age of the oldest, want an hour", age)
	}
}

// lockedBuffer is a buffer that several goroutines may write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestLogHoldsNoSecrets checks that the log contains no secrets and no contents of reports,
// whatever happens to a filing.
func TestLogHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var log lockedBuffer
	u := h.instance(func(c *tracker.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for i, f := range []trackertest.Fault{trackertest.DropAfter, trackertest.Error500, trackertest.Permission,
		trackertest.Garbled, trackertest.ExpiredToken} {
		r := crashtest.Native(crashtest.Process(i), crashtest.Set("DuplicateSignature", problemSignature(i)),
			crashtest.Set("Title", "private title"))
		h.lp.Fail(trackertest.OpCreate, f)
		_, _ = u.filer.CreateBug(t.Context(), h.report(r), tracker.Options{Person: "ines", Wait: patience})
	}
	h.until("some are filed", []*instance{u}, func() bool { return len(h.lp.Bugs()) >= 3 })
	s := log.String()
	for _, private := range []string{string(h.cfg.Token.Secret), "private title", "tide_parse_row", "harbour.csv",
		"/home/"} {
		if strings.Contains(s, private) {
			t.Errorf("the log contains %q:\n%s", private, s)
		}
	}
	if !strings.Contains(s, "bug filed") {
		t.Errorf("got no line about a filed bug:\n%s", s)
	}
}
