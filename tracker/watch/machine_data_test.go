package watch_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/tracker/trackertest"
)

// machineData are pieces of machineMessage and of fields that identify a machine or its user.
var machineData = []string{
	"5d41402abc4b2a76b9719d911017c592", // the machine, as every fixture sends it
	"ines.almeida", "Almeida", "cedarbox", "letter-to-ann", "192.168.7.12", "fe80::1c2a", "00:1a:2b:3c:4d:5e",
	"ann@mail.example.org", "PF3XK2L9", "9f86d081884c7d659a2feaa0c55ad015", "4c4c4544-0051-3510-8052-b4c04f4a4d32",
	"hunter2", "ghp_abcdefghijklmnop", machineMark,
}

// machineMark stands in fields of which bugs must contain nothing. No token contains a hyphen.
const machineMark = "Zqx-mark"

const machineMessage = "cannot open /home/ines.almeida/letter-to-ann.odt on cedarbox (192.168.7.12, " +
	"fe80::1c2a:3bff:fe4d:5e6f, 00:1a:2b:3c:4d:5e) for ann@mail.example.org, serial number: PF3XK2L9, " +
	"machine-id 9f86d081884c7d659a2feaa0c55ad015, uuid 4c4c4544-0051-3510-8052-b4c04f4a4d32, password=hunter2 " +
	"ghp_abcdefghijklmnopqrstuvwxyz0123456789"

// withMachineData adds machineMessage to all fields of a report whose class may change, and marks to all
// private and secret fields of which bugs must contain nothing.
func withMachineData(r crashtest.Report) {
	table := (*privacy.Table)(nil)
	for i, row := range table.Rows() {
		name := strings.Replace(row.Name, "*", "x", 1)
		switch {
		case row.Fixed || name == "ProcStatus" || name == "ProcMaps":
		case row.Class >= privacy.Private && row.Excerpt == "":
			r[name] = fmt.Sprintf("%s%d %s", machineMark, i, machineMessage)
		case r[name] == "":
			r[name] = machineMessage
		default:
			r[name] = r[name] + "\n" + machineMessage
		}
	}
	r["UserPassword"], r["FooTokenBar"] = machineMark+" hunter2", machineMark
	r["Title"] = r["Title"] + " for /home/ines.almeida/letter-to-ann.odt on host cedarbox"
	r["ProcEnviron"] = "USER=ines.almeida\nHOSTNAME=cedarbox\nLANG=en_GB.UTF-8"
	r["Uname"] = "Linux cedarbox 6.8.0-31-generic x86_64"
	r["UserName"], r["HostName"], r["RealName"] = "ines.almeida", "cedarbox", "Inês Almeida"
	r["SystemIdentifier"] = strings.Repeat("5d41402abc4b2a76b9719d911017c592", 4)
}

// TestBugsWithoutMachineData files a bug for each kind of report, each full of data about its machine.
// The bugs get sections and comments. It searches all requests that reached the tracker for that data.
func TestBugsWithoutMachineData(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(...crashtest.Option) crashtest.Report{
		"native": crashtest.Native, "hang": crashtest.Hang, "assertion": crashtest.Assertion, "python": crashtest.Python,
		"package": crashtest.Package, "oops": crashtest.Oops, "recoverable": crashtest.Recoverable,
		"java": crashtest.Java, "go": crashtest.GoPanic, "rust": crashtest.RustPanic,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.instance()
			w := f.reader(i, everyRound)
			report := func(version string) string {
				f.process++
				r := kind(crashtest.Version(version), crashtest.Process(70_000+f.process), crashtest.At(time.Now().UTC()))
				withMachineData(r)
				return f.report(r)
			}
			f.rule(crash.UpdateRule{Pattern: crash.EveryPackage, Section: true, Again: true})
			signature := report("1.0-1")
			number := f.file(i, signature)
			round(t, w)
			report("1.0-2")
			f.exec(`update bug_sections set next = now()`)
			round(t, w)
			f.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.1-1", "noble") })
			round(t, w)
			if again := report("1.2-1"); again != signature {
				t.Fatalf("got the signature %q after %q", again, signature)
			}
			for range 3 {
				round(t, w)
			}
			if len(f.lp.Requests(trackertest.OpCreate)) == 0 || len(f.lp.Requests(trackertest.OpChange)) == 0 ||
				len(f.lp.Requests(trackertest.OpComment)) == 0 {
				t.Fatalf("got comments %q, want a bug with a changed section and a comment", f.comments(number))
			}
			for _, r := range f.lp.Requests("") {
				for _, text := range plain(r) {
					for _, word := range machineData {
						if !t.Failed() && strings.Contains(text, word) {
							t.Errorf("%s %s contains %q:\n%s", r.Method, r.Operation, word, around(text, word))
						}
					}
				}
			}
		})
	}
}

// plain returns the texts of a request as they are, and decoded.
func plain(r trackertest.Request) []string {
	texts := []string{r.URI, r.Body}
	for key, values := range r.Header {
		texts = append(texts, key+": "+strings.Join(values, " "))
	}
	for _, text := range slices.Clone(texts) {
		if decoded, err := url.QueryUnescape(text); err == nil {
			texts = append(texts, decoded)
		}
	}
	var object map[string]any
	if json.Unmarshal([]byte(r.Body), &object) == nil {
		texts = append(texts, fmt.Sprint(object))
	}
	return texts
}

// around returns the part of a text around a word.
func around(text, word string) string {
	at := strings.Index(text, word)
	return text[max(0, at-150):min(len(text), at+150)]
}

// TestSecretsInUpdates files a bug for each kind of private data that redaction recognises, with
// a changed section and a comment. It searches all requests that reached the tracker for that data.
func TestSecretsInUpdates(t *testing.T) {
	t.Parallel()
	for secrets := range slices.Chunk(crashtest.Secrets(), 30) { // a round reads 50 bugs
		t.Run("from "+secrets[0].Kind, func(t *testing.T) {
			t.Parallel()
			secretsInUpdates(t, secrets)
		})
	}
}

func secretsInUpdates(t *testing.T, secrets []crashtest.Secret) {
	t.Helper()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	f.rule(crash.UpdateRule{Pattern: crash.EveryPackage, Section: true, Again: true})
	numbers, signatures := make([]int64, len(secrets)), make([]string, len(secrets))
	report := func(n int, version string) {
		f.process++
		text, name := secrets[n].Text, fmt.Sprintf("/usr/bin/harbor-%d", n)
		r := crashtest.Python(crashtest.Version(version), crashtest.Process(70_000+f.process),
			crashtest.At(time.Now().UTC()), crashtest.Set("ExecutablePath", name), crashtest.Set("Title", "harbor: "+text))
		r["Traceback"] = strings.Replace(r["Traceback"], "invalid literal for int() with base 10: 'host-77'", text, 1)
		signatures[n] = f.report(r)
	}
	for n := range secrets {
		report(n, "1.0-1")
		numbers[n] = f.file(i, signatures[n])
	}
	wantNoSecrets := func() (changes int) {
		t.Helper()
		for _, r := range f.lp.Requests("") {
			if r.Operation == trackertest.OpChange {
				changes++
			}
			for _, text := range plain(r) {
				for _, s := range secrets {
					for _, hide := range s.Hide {
						if strings.Contains(text, hide) {
							t.Fatalf("%s: %s %s contains %q:\n%s", s.Kind, r.Method, r.Operation, hide, around(text, hide))
						}
					}
				}
			}
		}
		return changes
	}
	wantNoSecrets()
	round(t, w)
	for n, number := range numbers {
		report(n, "1.0-2")
		f.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.1-1", "noble") })
	}
	round(t, w)
	for n := range secrets {
		report(n, "1.2-1")
	}
	for range 8 { // a round sends a few comments and changes
		f.exec(`update bug_sections set next = now()`)
		round(t, w)
	}
	if wantNoSecrets() == 0 {
		t.Error("got no change of a description")
	}
	for n, number := range numbers {
		if got := f.comments(number); !strings.Contains(strings.Join(got, "\n"), "1.2-1") {
			t.Errorf("%s: got %q, want a comment about the version", secrets[n].Kind, got)
		}
	}
}
