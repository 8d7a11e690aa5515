package symbols_test

import (
	"bytes"
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/crash/symbols"
	"mishap/crash/symbols/sandbox"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
)

// benchCores are symbolised in turn: C with threads and a library, C++ and Go.
var benchCores = []string{"tidewatch", "isobar", "keel"}

// BenchmarkSymbols measures what docs/symbols.md lists: make bench-symbols.
func BenchmarkSymbols(b *testing.B) {
	var files []string
	for _, name := range append(benchCores, "libtide.so.1") {
		files = append(files, published(b, name)...)
	}
	b.Run("first-core", func(b *testing.B) {
		var total time.Duration
		for b.Loop() {
			b.StopTimer()
			fresh, core := newBench(b, "", files...), symboltest.Core(b, benchCores[0])
			began := time.Now()
			b.StartTimer()
			fresh.must(b, core)
			total += time.Since(began)
		}
		b.ReportMetric(total.Seconds()/float64(b.N), "s/core")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("cores-two-at-once", func(b *testing.B) { benchmarkCores(b, newBench(b, "", files...)) })
	b.Run("frames-as-in-gdb", func(b *testing.B) { benchmarkFrames(b, newBench(b, "", files...)) })
	b.Run("addresses", func(b *testing.B) { benchmarkAddresses(b, newBench(b, "", files...)) })
	b.Run("sandbox", benchmarkSandbox)
}

// benchmarkCores symbolises cores, two at once, with all files on this machine.
func benchmarkCores(b *testing.B, s bench) {
	var cores [][]byte
	for _, name := range benchCores {
		cores = append(cores, symboltest.Core(b, name))
	}
	s.must(b, cores[0])
	runtime.GC()
	var most, before runtime.MemStats
	runtime.ReadMemStats(&before)
	done := 0
	for b.Loop() {
		var group sync.WaitGroup
		for i := range 2 {
			core := cores[(done+i)%len(cores)]
			group.Go(func() { s.once(b, core) })
		}
		group.Wait()
		done += 2
	}
	runtime.ReadMemStats(&most)
	b.ReportMetric(float64(done)/b.Elapsed().Minutes(), "cores/min")
	// The cores themselves are in the memory of this test; mishap serve reads them from files.
	b.ReportMetric(float64(most.Sys-before.HeapAlloc)/(1<<20), "MiB")
	b.ReportMetric(0, "ns/op")
}

// once symbolises a core while others run.
func (b bench) once(t testing.TB, core []byte) {
	job, err := b.NewJob()
	if err == nil {
		if _, err = job.Core().Write(core); err == nil {
			_, err = job.Run(t.Context(), crash.Fields{"Package": "tide 1.0"})
		}
		err = errors.Join(err, job.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// benchmarkFrames compares the frames of all threads with those of gdb with the original programs.
func benchmarkFrames(b *testing.B, s bench) {
	same, all := 0, 0
	for b.Loop() {
		same, all = 0, 0
		for _, name := range benchCores {
			r := s.must(b, symboltest.Core(b, name))
			got := grouping.Threads(r.Fields)
			if len(got) == 0 {
				got = []grouping.Thread{{Frames: grouping.Frames(r.Fields)}}
			}
			for i, thread := range debuggerThreads(b, name) {
				want := places(withoutGuesses(thread.Frames))
				all += len(want)
				if i >= len(got) {
					continue
				}
				for j, p := range places(got[i].Frames) {
					if j < len(want) && p == want[j] {
						same++
					}
				}
			}
		}
	}
	b.ReportMetric(100*float64(same)/float64(all), "%equal")
	b.ReportMetric(float64(all), "frames")
	b.ReportMetric(0, "ns/op")
}

// benchmarkAddresses names whole address signatures with a gdb that has read the files.
func benchmarkAddresses(b *testing.B, s bench) {
	core := symboltest.Core(b, "tidewatch")
	n, report := s.namer(b, buildsIn(b, core)), addressReport(b, "tidewatch")
	name := func() symbols.Result {
		r, err := n.Name(b.Context(), report)
		checktest.NoError(b, err)
		return r
	}
	places, began := 0, time.Now()
	for _, m := range name().Modules {
		places += m.Frames
	}
	first := time.Since(began)
	for b.Loop() {
		name()
	}
	b.ReportMetric(float64(b.N*places)/b.Elapsed().Seconds(), "addresses/s")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "signatures/s")
	b.ReportMetric(first.Seconds(), "s/first")
	b.ReportMetric(0, "ns/op")
}

// benchmarkSandbox measures what confining a program adds to running it.
func benchmarkSandbox(b *testing.B) {
	const program = "/bin/true"
	dir := symboltest.TempDir(b)
	var plain, confined time.Duration
	for b.Loop() {
		began := time.Now()
		checktest.NoError(b, exec.CommandContext(b.Context(), program).Run())
		plain += time.Since(began)
		began = time.Now()
		p, err := sandbox.Start(b.Context(), sandbox.Command{Program: program, Dir: dir, Memory: 4 << 30, CPU: time.Minute})
		checktest.NoError(b, err)
		var out bytes.Buffer
		dbtest.Must(out.ReadFrom(p.Out))(b)
		p.Close()
		confined += time.Since(began)
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(ms(plain), "ms-plain")
	b.ReportMetric(ms(confined), "ms-confined")
	b.ReportMetric(ms(confined-plain), "ms-overhead")
	b.ReportMetric(0, "ns/op")
}
