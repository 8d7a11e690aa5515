package sender

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/symbols/cores"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

const asked = "11111111-2222-3333-4444-555555555555"

// elfCore returns a core dump of a real program.
func elfCore(t *testing.T) []byte {
	t.Helper()
	f := dbtest.Must(os.Open("../symbols/testdata/tiny.core.gz"))(t)
	defer f.Close() //nolint:errcheck // only read
	return dbtest.Must(io.ReadAll(dbtest.Must(gzip.NewReader(f))(t)))(t)
}

func zstdOf(t *testing.T, content []byte) []byte {
	t.Helper()
	w := dbtest.Must(zstd.NewWriter(nil))(t)
	return w.EncodeAll(content, nil)
}

// nameless is a crash that servers want the core dump of.
func nameless(program string) crash.Fields {
	return crash.Fields{"ProblemType": "Crash", "ExecutablePath": program, "Signal": "11", "Architecture": "amd64",
		"Package": "tidewatch 1.4.9-2", "DistroRelease": "Debian 12",
		"StacktraceAddressSignature": program + ":11:/usr/lib/libreef.so.1+1a10:" + program + "+9234",
		"Date":                       time.Now().UTC().Format(time.ANSIC)}
}

// TestCores sends core dumps to mishap's own listener, which asks for them.
func TestCores(t *testing.T) {
	t.Parallel()
	core := elfCore(t)
	file := append(crashtest.Native().Crash(), "CoreDump.zst: base64\n "+
		base64.StdEncoding.EncodeToString(zstdOf(t, core))+"\n"...)
	files := map[string][]byte{"core.x.zst": zstdOf(t, core), "core.y": core, "z.crash": file}
	db := dbtest.Open(t, dbtest.URL(t))
	folder := dbtest.Must(cores.OpenFolder(t.Context(), filepath.Join(t.TempDir(), "cores"), "a key"))(t)
	handler := dbtest.Must(ingest.New(ingest.Deps{Intake: intake.New(intake.Config{MaxAgeDays: 3660}, db), Cores: folder,
		WantCores: true, Store: symbols.New(db), MaxBytes: 1 << 20, AnswerWithin: time.Minute}))(t)
	if err := symbols.New(db).WorkerSeen(t.Context(), crash.SymbolWorker{Store: folder.ID(),
		Architectures: []string{"amd64"}}); err != nil {
		t.Fatal(err)
	}
	bodies := make(chan []byte, len(files))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &body), r.Body}
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		if strings.Contains(r.URL.Path, "/submit-core/amd64/") {
			if bodies <- body.Bytes(); rec.Code != http.StatusOK {
				t.Errorf("%s: got %d %s", r.URL.Path, rec.Code, rec.Body)
			}
		}
		w.WriteHeader(rec.Code)
		_, _ = io.WriteString(w, rec.Body.String())
	}))
	t.Cleanup(s.Close)
	x := newFixture(t, s.URL)
	x.MaxCore = 1 << 20
	send := dbtest.Must(New(x.Config))(t)
	for name, content := range files {
		place := filepath.Join(x.dir, name)
		if err := os.WriteFile(place, content, 0o600); err != nil {
			t.Fatal(err)
		}
		send.store(report{fields: nameless("/usr/bin/" + name), core: place})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range files {
			body := <-bodies
			var got bytes.Buffer
			if _, err := apport.Decompress(&got, bytes.NewReader(body), 1<<30); err != nil || !bytes.Equal(got.Bytes(), core) {
				t.Errorf("got a core dump of %d bytes, %v; want %d", got.Len(), err, len(core))
			}
		}
	}()
	if err := x.run(t, done); err != nil {
		t.Fatal(err)
	}
}

// TestCoreRounds checks when a core dump is sent, kept and given up.
func TestCoreRounds(t *testing.T) {
	t.Parallel()
	battery := map[string]string{"AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery",
		"BAT0/status": "Discharging"}
	for name, c := range map[string]struct {
		answer      http.HandlerFunc // nil: it is not sent
		change      func(*Config)
		power       map[string]string
		kept, noted bool
	}{
		"stored":               {answer: stored},
		"refused":              {answer: status(400, "This core dump was not asked for.")},
		"no room":              {answer: status(503, "no room"), kept: true},
		"a battery":            {power: battery, kept: true},
		"a battery, permitted": {answer: stored, power: battery, change: func(c *Config) { c.CoresOnBattery = true }},
		"a full battery": {answer: stored, power: map[string]string{"AC/type": "Mains", "AC/online": "1",
			"BAT0/type": "Battery", "BAT0/status": "Discharging"}},
		"of a mouse": {answer: stored, power: map[string]string{"M/type": "Battery", "M/scope": "Device",
			"M/status": "Discharging"}},
		"too large":      {change: func(c *Config) { c.MaxCore = 10 }, noted: true},
		"after a week":   {answer: status(503, ""), change: func(c *Config) { c.Now = inTwoWeeks }},
		"no longer sent": {change: func(c *Config) { c.MaxCore = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				if r.URL.Path != "/"+asked+"/submit-core/amd64/"+string(machineID) || c.answer == nil {
					t.Errorf("got a request %s", r.URL)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				c.answer(w, r)
			}))
			t.Cleanup(s.Close)
			x := newFixture(t, s.URL)
			x.MaxCore, x.Power = 1<<20, filepath.Join(x.dir, "power")
			core := filepath.Join(x.dir, "core.x.zst")
			for file, content := range c.power {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(x.Power, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(x.Power, file), []byte(content+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(core, zstdOf(t, elfCore(t)), 0o600); err != nil {
				t.Fatal(err)
			}
			first := dbtest.Must(New(x.Config))(t)
			first.store(report{fields: nameless("/usr/bin/x"), core: core})
			names, _, _ := first.spool.list()
			if err := first.spool.want(names[0], asked); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(&x.Config)
			}
			again := dbtest.Must(New(x.Config))(t) // after a restart
			left, _, err := again.coreRound(t.Context())
			waiting, _ := filepath.Glob(filepath.Join(x.State, "spool", "*"+wantedCore))
			if err != nil || left != c.kept || len(waiting) == 1 != c.kept || requests > 0 != (c.answer != nil) {
				t.Errorf("got %v, %v, %d waiting, %d requests\n%s", left, err, len(waiting), requests, x.log)
			}
			if noted := strings.Contains(x.log.String(), errLargeCore.Error()); noted != c.noted {
				t.Errorf("got log %s", x.log)
			}
		})
	}
}

func inTwoWeeks() time.Time { return time.Now().AddDate(0, 0, 14) }

// TestCoreAnswer checks that only whoopsie's exact answer asks for a core dump.
func TestCoreAnswer(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{asked + " CORE": asked, asked + " CORE\n": "", asked + " OOPSID": "",
		"../../etc CORE": "", " CORE": "", "": ""} {
		if got := wantsCore(answer); got != want {
			t.Errorf("%q: got %q, want %q", answer, got, want)
		}
	}
}

// TestCoreIsKept checks what the spool stores about core dumps while their reports wait.
func TestCoreIsKept(t *testing.T) {
	t.Parallel()
	url, _, _ := server(t, status(200, asked+" CORE"), status(200, asked+" CORE"), stored)
	x := newFixture(t, url)
	x.MaxCore = 1
	s := dbtest.Must(New(x.Config))(t)
	for _, core := range []string{"/x/core.1.zst", "", "/x/core.3.zst"} {
		s.store(report{fields: nameless("/usr/bin/x"), core: core})
	}
	if left, _, err := s.round(t.Context()); left || err != nil {
		t.Fatalf("got %v, %v", left, err)
	}
	all := dbtest.Must(filepath.Glob(filepath.Join(x.State, "spool", "*")))(t)
	if len(all) != 1 || string(dbtest.Must(os.ReadFile(all[0]))(t)) != asked+"\n/x/core.1.zst" {
		t.Errorf("got %v, want only that the first core dump is wanted", all)
	}
}
