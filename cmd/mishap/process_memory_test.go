package main

import (
	"bytes"
	"encoding/base64"
	bin "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"mishap/crash/crashtest"
	"mishap/crash/sizetest"
	"mishap/db/dbtest"
)

// memoryLimit limits the memory of the ingest server under hostile load: about 400 MB in 24 bodies
// at once, and bombs that decompress to many times as much. The settings allow bodies of 16 MiB.
const memoryLimit = 512 << 20

// TestHostileLoadNeedsLittleMemory posts the worst bodies that the settings allow, many at once, to
// a separate server.
func TestHostileLoadNeedsLittleMemory(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system does not report the peak memory of a process")
	}
	p, addresses := serveProcess(t, []string{
		"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir(), "MISHAP_INGEST_RATE_PER_SYSTEM=0",
	}, "--only", "ingest")
	const most = 16<<20 - 1<<16
	packedZeros := bomb(128)
	huge := strings.Repeat("Ä", most/2-500)
	bodies := map[string][]byte{
		"one field": crashtest.Native(crashtest.Set("ProcMaps", huge)).BSON(),
		"stack": crashtest.Native(crashtest.Set("Stacktrace", strings.Repeat("#1  0x00 in f () at x.c:1\n",
			most/26))).BSON(),
		"traceback": crashtest.Python(crashtest.Set("Traceback", strings.Repeat("  File \"x\", line 1, in "+
			"f\n    g()\n", most/33))).BSON(),
		"kernel's text": crashtest.Oops(crashtest.Set("OopsText", strings.Repeat("[    1.0] Call Trace: "+
			"x+0x1/0x2\n", most/33))).BSON(),
		"many fields": bsonOf(t, most, func(i int) string {
			return "\x02k" + strconv.Itoa(i) +
				"\x00\x02\x00\x00\x00v\x00"
		}),
		"nested":    bsonOf(t, most, func(int) string { return "\x03a\x00\xff\xff\x00\x00" }),
		"not UTF-8": crashtest.Native(crashtest.Set("Title", strings.Repeat("\xff\x00", most/2-1000))).BSON(),
		"bomb": crashtest.Native(crashtest.Set("Stacktrace", packedZeros),
			crashtest.Set("StacktraceTop", packedZeros), crashtest.Set("ProcMaps", packedZeros)).BSON(),
	}
	answers := map[int]int{}
	var mu sync.Mutex
	var sending sync.WaitGroup
	for name, body := range bodies {
		for i := range 3 {
			sending.Go(func() {
				for range sizetest.Rounds(1, 2) {
					status := postBody(t, addresses["ingest_listen"], fmt.Sprint(name[:3], i), body)
					mu.Lock()
					answers[status]++
					mu.Unlock()
				}
			})
		}
	}
	sending.Wait()
	for status := range answers {
		switch status {
		case http.StatusOK, http.StatusBadRequest, http.StatusServiceUnavailable:
		default:
			t.Errorf("got status %d, want one that a machine understands", status)
		}
	}
	if status := postTo(t, addresses["ingest_listen"], "honest", crashtest.Native()); status != http.StatusOK {
		t.Errorf("a normal report afterwards: got status %d, want %d", status, http.StatusOK)
	}
	need := mostMemory(t, p.cmd.Process.Pid)
	t.Logf("peak memory of the server: %d MB; answers by status: %v", need>>20, answers)
	if need > memoryLimit {
		t.Errorf("peak memory of the server: got %d MB, want less than %d MB", need>>20, memoryLimit>>20)
	}
}

// bsonOf returns a document of the given size, made of elements.
func bsonOf(t *testing.T, size int, element func(i int) string) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(make([]byte, 4))
	b.WriteString("\x02Package\x00\x04\x00\x00\x00x 1\x00\x02ProblemType\x00\x06\x00\x00\x00Crash\x00")
	for i := 0; b.Len() < size-100; i++ {
		b.WriteString(element(i))
	}
	b.WriteByte(0)
	bin.LittleEndian.PutUint32(b.Bytes(), uint32(b.Len()))
	return b.Bytes()
}

// bomb returns a compressed field, in whoopsie's format, of so many MiB of equal bytes.
func bomb(mib int) string {
	return base64.StdEncoding.EncodeToString(crashtest.Bomb(bytes.Repeat([]byte("0"), 1<<20), mib))
}

// TestBombsNeedLittleMemory posts 40 bodies at once, 300 in a thorough run. Half of their fields decompress
// to far more than the limit, the others to just below it; the latter alone need 300 MB. Normal machines send reports
// at the same time.
func TestBombsNeedLittleMemory(t *testing.T) {
	t.Parallel()
	p, addresses := serveProcess(t, []string{
		"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir(), "MISHAP_INGEST_RATE_PER_SYSTEM=0",
	}, "--only", "ingest")
	var bodies [][]byte
	for _, mib := range []int{200, 15} {
		bodies = append(bodies, crashtest.Native(crashtest.Set("Stacktrace", bomb(mib))).BSON())
	}
	var attack, honest sync.WaitGroup
	var over atomic.Bool
	var hostile, answers statuses
	for i := range sizetest.Rounds(40, 300) {
		attack.Go(func() {
			hostile.add(postBody(t, addresses["ingest_listen"], fmt.Sprint("bomb", i), bodies[i%len(bodies)]))
		})
	}
	for machine := range 3 {
		honest.Go(func() {
			for i := 0; i < 5 || !over.Load(); i++ {
				answers.add(postTo(t, addresses["ingest_listen"], fmt.Sprint("honest", machine),
					crashtest.Native(crashtest.Process(1+i))))
			}
		})
	}
	attack.Wait()
	over.Store(true)
	honest.Wait()
	for status := range hostile.counts {
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("a bomb: got status %d, want one that machines understand", status)
		}
	}
	if len(answers.counts) != 1 || answers.counts[http.StatusOK] == 0 {
		t.Errorf("normal machines: got answers %v, want every report accepted", answers.counts)
	}
	need := mostMemory(t, p.cmd.Process.Pid)
	t.Logf("peak memory of the server: %d MB; bombs by status: %v; normal reports: %v", need>>20, hostile.counts,
		answers.counts)
	if need > memoryLimit {
		t.Errorf("peak memory of the server: got %d MB, want less than %d MB", need>>20, memoryLimit>>20)
	}
}

// statuses counts answers by status.
type statuses struct {
	mu     sync.Mutex
	counts map[int]int
}

func (s *statuses) add(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[int]int{}
	}
	s.counts[status]++
}

// postBody sends a report and returns the status of the answer. A server that refuses a body before
// it has arrived closes the connection half a second later, and a slow sender does not see the
// answer then. Machines treat both alike and send the report again later.
func postBody(t *testing.T, address, system string, body []byte) int {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/"+system,
		bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return http.StatusServiceUnavailable
	}
	if err != nil {
		t.Errorf("post: %v", err)
		return 0
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// mostMemory returns the peak resident memory of a process, in bytes.
func mostMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := peakMemory.FindSubmatch(text)
	if found == nil {
		t.Fatalf("no VmHWM in %q", text)
	}
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
