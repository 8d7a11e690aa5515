package crashtest

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Load generates reports of about 20 kB for benchmarks. It is safe for concurrent use.
type Load struct {
	bodies [][]byte
	sent   atomic.Uint64
}

const (
	loadReports  = 2000
	loadMachines = 50_000
	processMark  = "Pid:\t00000000"
)

// NewLoad returns a load of 500 problems, a few of which have most reports.
func NewLoad(now time.Time) *Load {
	var maps strings.Builder
	for at := 0x7f0000000000; maps.Len() < 12_000; at += 0x5000 {
		fmt.Fprintf(&maps, "%x-%x r--p 00000000 08:02 %d                    /usr/lib/x86_64-linux-gnu/libreef-%d.so.%d\n",
			at, at+0x4000, 1_310_000+at%877, at/0x5000%41, at%5)
	}
	l := &Load{}
	for r := range (Volume{Reports: loadReports, Problems: 500, Days: 4, Padding: 6000, Now: now}).All() {
		r.Fields["ProcMaps"], r.Fields["ProcStatus"] = maps.String(), "Name:\ttidewatch\n"+processMark+"\n"
		l.bodies = append(l.bodies, Report(r.Fields).BSON())
	}
	return l
}

// Next returns the path and the body of the next request. Each report is a different crash, because
// its process id differs.
func (l *Load) Next() (path string, body []byte) {
	n := l.sent.Add(1)
	body = bytes.Clone(l.bodies[n%loadReports])
	at := bytes.Index(body, []byte(processMark)) + len(processMark) - 8
	copy(body[at:], fmt.Sprintf("%08x", uint32(n))) //nolint:gosec // only has to differ
	return fmt.Sprintf("/%0128x", n%loadMachines), body
}
