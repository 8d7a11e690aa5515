package doctor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/sandbox"
)

// symbols checks the debugger, its sandbox and the debuginfod servers.
func (d *doctor) symbols(ctx context.Context) []Finding {
	out := d.debugger(ctx)
	if d.Config.Cores == "never" && Worst(out) != OK {
		out = []Finding{off("symbols", "no machine is asked for a core dump (cores is never), and none could be symbolised: "+
			out[len(out)-1].Message)}
	}
	servers, err := debuginfo.ParseServers(d.Config.DebuginfodURLs)
	switch {
	case err != nil:
		return append(out, failed("symbols", explain(err), "correct debuginfod_urls"))
	case len(servers) == 0:
		return append(out, good("symbols", "no debuginfod servers (debuginfod_urls is empty)"))
	}
	found := make([]Finding, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() { found[i] = d.debuginfod(ctx, s.URL) })
	}
	asking.Wait()
	return append(out, found...)
}

// debugger checks the debugger and its sandbox.
func (d *doctor) debugger(ctx context.Context) []Finding {
	path, err := symbols.FindDebugger(runtime.GOARCH)
	if err != nil {
		return []Finding{warned("symbols", explain(err), "install gdb, or set cores to never")}
	}
	return []Finding{good("symbols", path+" is installed"), d.sandbox(ctx)}
}

// sandbox tries what the sandbox of the debugger forbids, in a temporary folder.
func (d *doctor) sandbox(ctx context.Context) Finding {
	dir, err := os.MkdirTemp("", "mishap-doctor-")
	if err != nil {
		return failed("symbols", explain(err), "make space in the folder for temporary files")
	}
	defer os.RemoveAll(dir)                      //nolint:errcheck // empty, in the folder for temporary files
	if err := os.Chmod(dir, 0o755); err != nil { // root's debugger runs as another user
		return failed("symbols", explain(err), "make the folder for temporary files writable")
	}
	if err := sandbox.Check(ctx, dir); err != nil {
		return failed("symbols", explain(err),
			"use Linux 5.13 or newer with Landlock and seccomp, or set cores to never")
	}
	return good("symbols", "the sandbox confines the debugger")
}

// debuginfod asks a server for a file that cannot exist.
func (d *doctor) debuginfod(ctx context.Context, server string) Finding {
	const remedy = "correct debuginfod_urls, or allow connections to the server; without it, functions have no names"
	address := server + "/buildid/" + strings.Repeat("0", 40) + "/debuginfo"
	resp, _, err := d.get(ctx, d.http, address) //nolint:bodyclose // get closes it
	switch {
	case err != nil:
		return failed("symbols", server+" cannot be reached: "+explain(err), remedy)
	case resp.StatusCode != 404 && resp.StatusCode != 200:
		return failed("symbols", fmt.Sprintf("%s answers %s", server, resp.Status), remedy)
	}
	return good("symbols", server+" answers")
}
