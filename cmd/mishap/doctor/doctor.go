// Package doctor checks everything that mishap needs: its database, disks, clock, tracker, mail relay,
// debugger, proxies, certificate and files. It changes nothing, sends no mail and files nothing, and
// works whether or not mishap is running.
package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mishap/cmd/mishap/config"
	"mishap/cmd/mishap/traces"
	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/sandbox"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/embedded"
	"mishap/db/upkeep"
	"mishap/tracker"
	"mishap/tracker/launchpad"
)

// Status is the result of a check.
type Status = crash.HealthStatus

// The results of a check, in order of severity.
const (
	Off     = crash.HealthOff
	OK      = crash.HealthOK
	Warning = crash.HealthWarning
	Failure = crash.HealthFailure
)

// Finding is one result, which is one line.
type Finding struct {
	Check   string `json:"check"` // name of the check: "database"
	Status  Status `json:"status"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // what to do; empty if Status is OK or Off
}

// Deps are what the checks need. Only Config and Tracker are required.
type Deps struct {
	Config  config.Config
	Tracker tracker.Config

	Trackers []tracker.Config // of the [[tracker]] tables
	Timeout  time.Duration    // of each check; 0: 10 s
	Now      func() time.Time // clock of this machine; nil: time.Now
	Roots    *x509.CertPool   // certificate authorities for base_url; nil: those of the system
}

type doctor struct {
	Deps
	http *http.Client
}

// grace is how long a check may take to return after its time-out.
const grace = time.Second

// Run runs all checks. It returns at most about twice Deps.Timeout later, even if a disk or a server
// hangs.
func Run(ctx context.Context, deps Deps) []Finding {
	deps.Timeout = cmp.Or(deps.Timeout, 10*time.Second)
	if deps.Now == nil {
		deps.Now = time.Now
	}
	d := &doctor{deps, newClient(nil)}
	facts, ok := limited(ctx, d.Timeout, d.database)
	if !ok {
		facts.findings = []Finding{d.late("database")}
	}
	checks := []struct {
		name string
		run  func(context.Context) []Finding
	}{
		{"service", func(ctx context.Context) []Finding { return d.service(ctx, facts) }},
		{"disk", d.disks}, {"permissions", d.permissions},
		{"tracker", func(ctx context.Context) []Finding { return d.tracker(ctx, facts) }},
		{"tracker", d.trackers}, {"routes", func(context.Context) []Finding { return d.routes(facts) }},
		{"mail", d.mail}, {"traces", d.traces}, {"symbols", d.symbols}, {"proxies", d.proxies}, {"base_url", d.baseURL},
	}
	results := make([][]Finding, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() {
			result, ok := limited(ctx, d.Timeout, c.run)
			if !ok {
				result = []Finding{d.late(c.name)}
			}
			results[i] = result
		})
	}
	running.Wait()
	all := facts.findings
	for _, r := range results {
		all = append(all, r...)
	}
	return all
}

// limited calls do, and returns false if do has not returned soon after the time-out. Some system
// calls, such as those on the files of a dead file server, do not end with their context.
func limited[T any](ctx context.Context, timeout time.Duration, do func(context.Context) T) (T, bool) {
	inside, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan T, 1)
	go func() { done <- do(inside) }()
	late := time.NewTimer(timeout + grace)
	defer late.Stop()
	select {
	case result := <-done:
		return result, true
	case <-late.C:
		var none T
		return none, false
	}
}

func (d *doctor) late(check string) Finding {
	return failed(check, fmt.Sprintf("the check did not end within %v", d.Timeout),
		"look for a disk or server that hangs")
}

// Worst returns the most severe status of the findings.
func Worst(all []Finding) Status {
	worst := OK
	for _, f := range all {
		if f.Status == Failure || f.Status == Warning && worst == OK {
			worst = f.Status
		}
	}
	return worst
}

func good(check, message string) Finding { return Finding{Check: check, Status: OK, Message: message} }

func off(check, message string) Finding { return Finding{Check: check, Status: Off, Message: message} }

func warned(check, message, remedy string) Finding { return Finding{check, Warning, message, remedy} }

func failed(check, message, remedy string) Finding { return Finding{check, Failure, message, remedy} }

// explain returns an error with its cause, in one line.
func explain(err error) string {
	text := err.Error()
	if known, ok := errors.AsType[*crash.Error](err); ok {
		text = known.Message
		if known.Err != nil {
			text += " (" + known.Err.Error() + ")"
		}
	}
	return crash.Truncate(strings.TrimRight(strings.Join(strings.Fields(text), " "), "."), 400)
}

// facts are what the other checks need from the database.
type facts struct {
	findings []Finding
	token    crash.SavedToken // of the tracker
	read     bool             // the token was read
	routes   crash.Routes     // of bugs
}

// database checks that the database answers, its version, encoding, schema and clock.
func (d *doctor) database(ctx context.Context) facts {
	url := string(d.Config.DatabaseURL)
	name := "PostgreSQL"
	if url == "" {
		found, err := embedded.Find(ctx, d.Config.DataDir)
		switch {
		case err != nil:
			return facts{findings: []Finding{failed("database", explain(err), "see docs/operating.md, The database")}}
		case found.PID == 0 && !found.Created:
			return facts{findings: []Finding{good("database", "the private database does not exist yet; "+
				"mishap creates it at its first start, with the programs in "+found.Programs), pgDump(ctx, found.Major)}}
		case found.PID == 0:
			return facts{findings: []Finding{good("database", "the private database in "+found.Dir+
				" is not running, so its content was not checked; mishap starts it with the programs in "+found.Programs),
				pgDump(ctx, found.Major)}}
		case found.URL == "":
			return facts{findings: []Finding{warned("database",
				fmt.Sprintf("the private database is starting or stopping (process %d)", found.PID),
				"run mishap doctor again in a minute; "+found.Dir+"/server.log says what the server does")}}
		}
		url, name = found.URL, "private PostgreSQL"
	}
	pooled, err := db.CheckPooler(ctx, url)
	if pooled && err != nil {
		return facts{findings: []Finding{failed("database", explain(err), "see docs/operating.md, High availability")}}
	}
	h, err := db.OpenReadOnly(ctx, url)
	if err != nil {
		return facts{findings: []Finding{failed("database", explain(err), "correct database_url")}}
	}
	defer h.Pool.Close()
	if pooled {
		name += " (through a connection pooler in session mode)"
	}
	return d.inspect(ctx, h, name)
}

func (d *doctor) inspect(ctx context.Context, h *db.Handle, name string) facts {
	began := d.Now()
	seen, err := h.Inspect(ctx)
	if err != nil && seen.Applied == 0 {
		return facts{findings: []Finding{failed("database", explain(err),
			"start PostgreSQL, or correct database_url; the server's log says more")}}
	}
	ended := d.Now()
	out := facts{findings: []Finding{good("database", name+" "+seen.Server+" answers")}}
	if seen.Encoding != "UTF8" {
		out.findings[0] = failed("database", name+" "+seen.Server+": the encoding of the database is "+seen.Encoding+
			", and mishap needs UTF8", "create the database again with ENCODING 'UTF8' TEMPLATE template0")
	}
	var major int
	if _, err := fmt.Sscanf(seen.Server, "%d", &major); err == nil {
		out.findings = append(out.findings, pgDump(ctx, major))
	}
	switch {
	case err != nil:
		out.findings = append(out.findings, failed("schema", explain(err), "see docs/operating.md, Upgrades"))
	case seen.Applied == 0:
		out.findings = append(out.findings, warned("schema", "the database is empty",
			"start mishap, or run mishap migrate"))
	case seen.Pending > 0 || !seen.Queue:
		out.findings = append(out.findings, warned("schema",
			fmt.Sprintf("%d migrations were applied, %d are missing", seen.Applied, seen.Pending),
			"make a backup, then restart mishap or run mishap migrate"))
	default:
		out.findings = append(out.findings, good("schema",
			fmt.Sprintf("all %d migrations were applied", seen.Applied)))
	}
	out.findings = append(out.findings, clock("the database", seen.Clock, began, ended, 0))
	if err == nil && seen.Applied > 0 && seen.Pending == 0 {
		h.Log = slog.New(slog.DiscardHandler)
		key := crash.TrackerKey{URL: d.Tracker.URL, ConsumerKey: d.Tracker.ConsumerKey}
		store := bugs.New(&db.Store{Handle: h})
		out.token, err = store.SavedToken(ctx, key)
		out.read = err == nil
		if out.routes, err = store.Routes(ctx); err != nil {
			out.findings = append(out.findings, warned("routes", "the routes of bugs cannot be read: "+explain(err),
				"run mishap doctor again"))
		}
		out.findings = append(append(out.findings, d.backups(ctx, h)...), archives(ctx, h))
	}
	return out
}

// pgDump checks that backups of a server with this major version can be made.
func pgDump(ctx context.Context, major int) Finding {
	path, err := embedded.FindTool(ctx, "pg_dump", major)
	if err != nil {
		return warned("pg_dump", explain(err), "mishap backup and mishap restore need it")
	}
	return good("pg_dump", path+" can back up PostgreSQL "+strconv.Itoa(major))
}

// backups checks the last backup and its verification.
func (d *doctor) backups(ctx context.Context, h *db.Handle) []Finding {
	b, err := upkeep.ReadBackups(ctx, h)
	if err != nil {
		return []Finding{failed("backup", explain(err), "see docs/operating.md")}
	}
	return []Finding{judged(upkeep.JudgeBackup(b, d.Now())), judged(upkeep.JudgeVerification(b, d.Now()))}
}

// archives checks the servers with old reports.
func archives(ctx context.Context, h *db.Handle) Finding {
	all, err := db.ArchiveStates(ctx, h)
	if err != nil {
		return failed("archives", explain(err), "run mishap archive list")
	}
	return judged(upkeep.JudgeArchives(all))
}

// judged returns the finding of a health check.
func judged(c crash.HealthCheck) Finding {
	f := Finding{c.ID, c.Status(), strings.TrimSuffix(strings.TrimSpace(c.Problem+" "+c.Detail), "."), c.Remedy}
	if c.Problem == "" {
		f.Remedy = ""
	}
	return f
}

// clock compares another clock with that of this machine, which showed began before the question and
// ended after the answer. resolution is that of the other clock.
func clock(of string, other, began, ended time.Time, resolution time.Duration) Finding {
	var difference time.Duration
	switch {
	case other.Before(began.Add(-resolution)):
		difference = began.Sub(other) - resolution
	case other.After(ended):
		difference = other.Sub(ended)
	}
	message := fmt.Sprintf("this machine and %s differ by %v", of, difference.Round(time.Second))
	const remedy = "correct the clock that is wrong (timedatectl), and keep it right with chrony or systemd-timesyncd"
	switch {
	case difference >= upkeep.ClockFailure:
		return failed("clock", message, remedy)
	case difference >= upkeep.ClockWarning:
		return warned("clock", message, remedy)
	}
	return good("clock", "this machine and "+of+" agree")
}

// disks checks the free space of the folders that mishap writes to, and the shared storage.
func (d *doctor) disks(ctx context.Context) []Finding {
	out := []Finding{space("data_dir", d.Config.DataDir), temporary(os.TempDir())}
	if d.Config.DatabaseURL == "" {
		found, _ := embedded.Find(ctx, d.Config.DataDir) // the check of the database reports the error
		if found.Dir != "" && !strings.HasPrefix(found.Dir, absolute(d.Config.DataDir)+"/") {
			out = append(out, space("database", found.Dir))
		}
	}
	location, err := blobs.ParseLocation(d.Config.Blobs)
	switch {
	case d.Config.Blobs == "":
		out = append(out, d.coreSpace())
	case err != nil: // a folder
		out = append(out, space("blobs", d.Config.Blobs))
	default:
		bucket, err := blobs.OpenBucket(location, d.Config.BlobsAccessKey, d.Config.BlobsSecret)
		if err == nil {
			err = bucket.Check(ctx)
		}
		if err != nil {
			out = append(out, failed("disk", "blobs: "+explain(err), "correct blobs, blobs_access_key or blobs_secret"))
		} else {
			out = append(out, good("disk", "blobs: the object storage accepts the credentials"))
		}
	}
	return out
}

// space checks the free space of the file system that holds a folder or will hold it.
func space(label, folder string) Finding {
	there := existing(folder)
	s, err := db.SpaceOf(there)
	if err != nil {
		return failed("disk", label+": "+explain(err), "mount the disk, or correct "+label)
	}
	message := fmt.Sprintf("%s: %s of %s are free in %s", label, size(s.Free), size(s.Total), there)
	switch {
	case s.Full():
		return failed("disk", message, "make space, or move "+label+" to a larger disk")
	case s.Low():
		return warned("disk", message, "make space, or move "+label+" to a larger disk")
	}
	return good("disk", message)
}

// temporary checks the folder for temporary files, which restore --verify and backups to object storage
// fill, and which doctor and the debugger need, too.
func temporary(folder string) Finding {
	const label = "TMPDIR"
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, folder, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return failed("disk", label+": the disk of "+folder+" is read-only", readOnlyRemedy)
	case err != nil:
		return failed("disk", label+": this user may not write to "+folder+" ("+explain(err)+")",
			"set TMPDIR to a folder that exists and that this user may write to, such as /var/tmp")
	}
	return space(label, folder)
}

// readOnlyRemedy says what to do about a read-only disk, on which nobody may write.
const readOnlyRemedy = "find out why (dmesg) and mount it writable; a service of systemd may need ReadWritePaths= " +
	"for it"

// coreSpace checks that the disk can hold the core dumps that cores_total_max_bytes permits.
func (d *doctor) coreSpace() Finding {
	if d.Config.Cores == "never" {
		return good("disk", "core dumps: none are accepted (cores is never)")
	}
	var used uint64
	err := filepath.WalkDir(filepath.Join(d.Config.DataDir, "cores"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			used += uint64(max(info.Size(), 0))
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("disk", "core dumps: "+explain(err), "run mishap doctor as the user that runs mishap")
	}
	s, err := db.SpaceOf(existing(d.Config.DataDir))
	if err != nil {
		return failed("disk", "core dumps: "+explain(err), "mount the disk, or correct data_dir")
	}
	limit := uint64(d.Config.CoresTotalMaxBytes) //nolint:gosec // the configuration checks it
	message := fmt.Sprintf("core dumps: %s of at most %s", size(used), size(limit))
	if used+s.Free < limit {
		return warned("disk", message+", but only "+size(s.Free)+" are free",
			"lower cores_total_max_bytes, or make space")
	}
	return good("disk", message)
}

// permissions checks who may read and write the configuration, data_dir and the key of core dumps.
func (d *doctor) permissions(context.Context) []Finding {
	out := []Finding{good("permissions", d.Config.File+" contains no secrets, or only its owner can read them")}
	if file := d.Config.Exposed(); file != "" {
		out[0] = failed("permissions", file+" contains secrets that other accounts can read",
			"chmod 600 "+file+", or chown root:mishap and chmod 640")
	}
	dir := d.Config.DataDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := existing(dir)
		err := unix.Faccessat(unix.AT_FDCWD, parent, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		if errors.Is(err, syscall.EROFS) {
			return append(out, failed("permissions", "data_dir: "+dir+" does not exist, and the disk of "+parent+
				" is read-only", readOnlyRemedy))
		}
		if err != nil {
			return append(out, failed("permissions", "data_dir: "+dir+" does not exist and cannot be created in "+parent,
				"create it: install -d -o mishap -g mishap -m 700 "+dir))
		}
		return append(out, good("permissions", "data_dir: "+dir+" does not exist yet"))
	case err != nil:
		return append(out, failed("permissions", "data_dir: "+explain(err), "correct data_dir"))
	case !info.IsDir():
		return append(out, failed("permissions", "data_dir: "+dir+" is not a folder", "correct data_dir"))
	}
	switch err := unix.Faccessat(unix.AT_FDCWD, dir, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS); {
	case errors.Is(err, syscall.EROFS):
		return append(out, failed("permissions", "data_dir: the disk of "+dir+" is read-only", readOnlyRemedy))
	case err != nil:
		return append(out, failed("permissions", "data_dir: this user may not write to "+dir,
			"run mishap doctor as the user that runs mishap, or chown "+dir+" to it"))
	case info.Mode().Perm()&0o022 != 0:
		out = append(out, failed("permissions", "data_dir: other accounts may write to "+dir, "chmod go-w "+dir))
	default:
		out = append(out, good("permissions", "data_dir: only its owner can write to "+dir))
	}
	out = append(out, owners(dir, info)...)
	return append(out, d.coreKey()...)
}

// owners reports what root has created in a data_dir of another user, who cannot use it then.
func owners(dir string, info fs.FileInfo) []Finding {
	owner, ok := info.Sys().(*syscall.Stat_t)
	entries, err := os.ReadDir(dir)
	if !ok || owner.Uid == 0 || err != nil {
		return nil
	}
	var roots []string
	for _, e := range entries {
		if i, err := e.Info(); err == nil {
			if st, ok := i.Sys().(*syscall.Stat_t); ok && st.Uid == 0 {
				roots = append(roots, e.Name())
			}
		}
	}
	if len(roots) == 0 {
		return nil
	}
	return []Finding{failed("permissions", "data_dir: root has created "+strings.Join(roots, ", ")+" in "+dir+
		", whose owner cannot use it", fmt.Sprintf("as root: chown -R %d:%d '%s'", owner.Uid, owner.Gid, dir))}
}

// coreKey checks the file with the key of core dumps, if there is one.
func (d *doctor) coreKey() []Finding {
	file := filepath.Join(d.Config.DataDir, "cores.key")
	info, err := os.Stat(file)
	if d.Config.CoresKey != "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Finding{failed("permissions", explain(err), "run mishap doctor as the user that runs mishap")}
	}
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return []Finding{failed("permissions", explain(err), "chown it to the user that runs mishap")}
	case info.Mode().Perm()&0o077 != 0:
		return []Finding{failed("permissions", "other accounts can read the key of core dumps", "chmod 600 "+file)}
	case len(strings.TrimSpace(string(text))) < 32:
		return []Finding{failed("permissions", "the key of core dumps in "+file+" is damaged",
			"restore it from a backup, or remove it together with "+d.Config.DataDir+"/cores")}
	}
	return []Finding{good("permissions", "only its owner can read the key of core dumps")}
}

// existing returns the nearest folder above a path that exists, or the path itself.
func existing(path string) string {
	for path = absolute(path); ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == "/" {
			return path
		}
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// size returns a number of bytes for people.
func size(bytes uint64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

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

// get requests an address and returns the status and the beginning of the answer.
func (d *doctor) get(ctx context.Context, client *http.Client, address string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("User-Agent", "mishap-doctor")
	resp, err := client.Do(req)
	if err != nil {
		if known, ok := errors.AsType[*url.Error](err); ok {
			err = known.Err // without the address
		}
		return nil, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp, strings.TrimSpace(string(body)), err
}

// service asks a running instance on this machine for its health, and leaves out the problems in facts.
func (d *doctor) service(ctx context.Context, facts facts) []Finding {
	address := config.LocalURL(d.Config.OpsListen)
	resp, body, err := d.get(ctx, d.http, address+"/readyz") //nolint:bodyclose // get closes it
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return []Finding{failed("service", "mishap does not answer on "+d.Config.OpsListen, "restart it; its log says more")}
	case err != nil:
		return []Finding{good("service", "mishap is not running here (nothing answers on "+d.Config.OpsListen+")")}
	case resp.StatusCode == http.StatusOK && body == "ready":
		return append([]Finding{good("service", "mishap is running and ready")}, d.running(ctx, address, body, facts)...)
	case resp.StatusCode == http.StatusServiceUnavailable:
		return append([]Finding{failed("service", "mishap is running, but not ready: "+
			strings.Join(strings.Fields(body), " "), "see docs/operating.md")}, d.running(ctx, address, body, facts)...)
	}
	return []Finding{failed("service", "another program answers on "+d.Config.OpsListen,
		"set ops_listen to a free address")}
}

// running asks a running instance for the health of the whole site. It returns the problems that are
// neither in known nor in facts.
func (d *doctor) running(ctx context.Context, address, known string, facts facts) []Finding {
	var out []Finding
	resp, body, err := d.get(ctx, d.http, address+"/health") //nolint:bodyclose // get closes it
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil // an older version, or one that is still starting
	}
	var health struct {
		Checks []struct {
			Check, Problem, Remedy string
			Status                 Status
		}
	}
	if err := json.Unmarshal([]byte(body), &health); err != nil {
		return []Finding{failed("service", "the health of the running instance: "+err.Error(), "restart it")}
	}
	for _, c := range health.Checks {
		said := slices.ContainsFunc(facts.findings, func(f Finding) bool { return f.Check == c.Check && f.Remedy != "" })
		if c.Problem != "" && !strings.Contains(known, c.Problem) && !said {
			out = append(out, Finding{"service", c.Status, strings.TrimSuffix(c.Problem, "."), c.Remedy})
		}
	}
	return out
}

// mail connects to the relay, without sending a mail.
func (d *doctor) mail(ctx context.Context) []Finding {
	relay, err := d.Config.Relay()
	switch {
	case err != nil:
		return []Finding{failed("mail", explain(err), "correct smtp_url or smtp_tls")}
	case relay == nil:
		return []Finding{off("mail", "no mail is sent (smtp_url is empty)")}
	}
	base, err := url.Parse(d.Config.BaseURL)
	if err != nil {
		return []Finding{failed("mail", explain(err), "correct base_url")}
	}
	switch encrypted, err := relay.Check(ctx, base.Hostname(), d.Timeout); {
	case err != nil:
		return []Finding{failed("mail", "the relay "+relay.Address()+": "+explain(err),
			"start the relay, or correct smtp_url, its password, or smtp_tls")}
	case !encrypted && d.Config.SMTPTLS != "off":
		return []Finding{warned("mail", "the relay "+relay.Address()+" does not offer STARTTLS, so mail is sent in "+
			"clear text",
			"give the relay a certificate, then set smtp_tls to require")}
	case !encrypted:
		return []Finding{good("mail", "the relay "+relay.Address()+" answers, without encryption")}
	}
	return []Finding{good("mail", "the relay "+relay.Address()+" answers, encrypted")}
}

// traces sends an empty message to the collector of traces.
func (d *doctor) traces(ctx context.Context) []Finding {
	if d.Config.TracesURL == "" {
		return []Finding{off("traces", "no traces are sent (traces_url is empty)")}
	}
	if err := traces.Check(ctx, d.Config.TracesAddress()); err != nil {
		return []Finding{warned("traces", "the collector "+d.Config.TracesURL+" does not accept traces: "+explain(err),
			"start the collector, or correct traces_url; OTEL_EXPORTER_OTLP_HEADERS sets what a collector asks for")}
	}
	return []Finding{good("traces", "the collector "+d.Config.TracesURL+" accepts traces")}
}

// proxies compares trusted_proxies with base_url and listen.
func (d *doctor) proxies(context.Context) []Finding {
	base, err := url.Parse(d.Config.BaseURL)
	host, _, errListen := net.SplitHostPort(d.Config.Listen)
	if err = errors.Join(err, errListen); err != nil {
		return []Finding{failed("proxies", explain(err), "correct base_url or listen")}
	}
	trusted := d.Config.ProxyNetworks()
	loopback := false
	for _, n := range trusted {
		loopback = loopback || n.Addr().IsLoopback()
		wide := n.Addr().Is4() && n.Bits() < 24 || n.Addr().Is6() && n.Bits() < 64
		if wide && !n.Addr().IsLoopback() {
			return []Finding{warned("proxies", "trusted_proxies contains the whole network "+n.String()+
				", whose machines can all claim to be other clients", "name the addresses of the proxies themselves")}
		}
	}
	switch {
	case base.Scheme == "http" && config.IsLoopback(base.Hostname()):
		return []Finding{good("proxies", "none needed: base_url is for this machine only")}
	case base.Scheme == "http":
		return []Finding{warned("proxies", "base_url is http on another machine: passwords and sessions can be read "+
			"on the network", "put a proxy with TLS in front, and set base_url to its https address")}
	case len(trusted) == 0:
		return []Finding{failed("proxies", "base_url is https, but no proxy is trusted: mishap takes all requests for http, "+
			"from one address", "set trusted_proxies to the addresses of the proxies")}
	case config.IsLoopback(host) && !loopback:
		return []Finding{failed("proxies", "listen is only for this machine, but trusted_proxies does not contain it",
			"add 127.0.0.0/8 ::1/128 to trusted_proxies")}
	case !config.IsLoopback(host) && loopback && len(trusted) <= 2:
		return []Finding{warned("proxies", "listen is open to other machines, but only a proxy on this machine is trusted",
			"set listen to 127.0.0.1:PORT if the proxy is here, else add its address to trusted_proxies")}
	}
	return []Finding{good("proxies", "trusted_proxies fits base_url and listen")}
}

// certificateWarning is the rest of a certificate's life at which it should have been renewed.
const certificateWarning = 14 * 24 * time.Hour

// baseURL checks the certificate of base_url, and that base_url leads to mishap.
func (d *doctor) baseURL(ctx context.Context) []Finding {
	base, err := url.Parse(d.Config.BaseURL)
	if err != nil {
		return []Finding{failed("base_url", explain(err), "correct base_url")}
	}
	var out []Finding
	if base.Scheme == "https" {
		f, reached := d.certificate(ctx, base)
		if out = append(out, f); f.Status == Failure || !reached {
			return out
		}
	}
	resp, body, err := d.get(ctx, newClient(d.tls()), d.Config.BaseURL+"/healthz") //nolint:bodyclose // get closes it
	const remedy = "start mishap, and make the proxy pass requests to listen"
	switch {
	case err != nil:
		out = append(out, warned("base_url", d.Config.BaseURL+" does not answer: "+explain(err), remedy))
	case resp.StatusCode != http.StatusOK || body != "ok":
		out = append(out, warned("base_url", fmt.Sprintf("%s answers %s instead of mishap's health check",
			d.Config.BaseURL, resp.Status), remedy))
	default:
		out = append(out, good("base_url", d.Config.BaseURL+" leads to mishap"))
	}
	return out
}

// certificate checks the TLS certificate of base_url. It returns false if no server answers.
func (d *doctor) certificate(ctx context.Context, base *url.URL) (Finding, bool) {
	port := base.Port()
	if port == "" {
		port = "443"
	}
	dialer := tls.Dialer{Config: d.tls()}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(base.Hostname(), port))
	if err != nil {
		return certificateError(base, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	ends := time.Time{}
	for _, c := range conn.(*tls.Conn).ConnectionState().PeerCertificates {
		if ends.IsZero() || c.NotAfter.Before(ends) {
			ends = c.NotAfter
		}
	}
	message := "the certificate of " + base.Hostname() + " is valid until " + ends.UTC().Format(time.DateOnly)
	if ends.Sub(d.Now()) < certificateWarning {
		return warned("base_url", message, "renew it now, and see why it was not renewed automatically"), true
	}
	return good("base_url", message), true
}

// certificateError says why a certificate is not accepted.
func certificateError(base *url.URL, err error) (Finding, bool) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return failed("base_url", "the certificate of "+base.Hostname()+" has expired or is not valid yet", "renew it"), true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return failed("base_url", "the certificate is for another name than "+base.Hostname(),
			"get one for this name, or correct base_url"), true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return failed("base_url", "this machine does not know the authority of the certificate of "+base.Hostname(),
			"serve the intermediate certificates, too, or install the authority (update-ca-certificates)"), true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, context.DeadlineExceeded) {
		return warned("base_url", base.Host+" cannot be reached from this machine: "+explain(err),
			"start the proxy, or correct base_url or the name service"), false
	}
	return failed("base_url", base.Host+": "+explain(err), "make the proxy serve TLS at this address"), true
}

func (d *doctor) tls() *tls.Config {
	return &tls.Config{RootCAs: d.Roots, Time: d.Now, MinVersion: tls.VersionTLS12}
}

// newClient returns a client that follows no redirects, and uses no proxy of the environment: mishap
// uses none, either.
func newClient(c *tls.Config) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig, t.Proxy, t.DisableKeepAlives = c, nil, true
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// tracker checks that the tracker answers and accepts the access token, and compares its clock.
func (d *doctor) tracker(ctx context.Context, known facts) []Finding {
	if !d.Config.HasLaunchpad() {
		return []Finding{off("tracker", `there is no Launchpad: tracker_url is "none"`)}
	}
	var out []Finding
	began := d.Now()
	resp, _, err := d.get(ctx, d.http, d.Config.TrackerAPIURL) //nolint:bodyclose // get closes it
	ended := d.Now()
	name := d.Config.TrackerName()
	if err != nil {
		return []Finding{failed("tracker", name+" cannot be reached at "+d.Config.TrackerAPIURL+": "+explain(err),
			"correct tracker_api_url, or allow connections to it")}
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		out = append(out, clock(name, at, began, ended, time.Second))
	}
	if resp.StatusCode >= 500 {
		return append(out, warned("tracker", name+" answers "+resp.Status, "wait until it works again"))
	}
	c := d.Tracker
	c.Timeout = d.Timeout
	saved := &readOnlyCredentials{token: known.token}
	account, err := tracker.Check(ctx, launchpad.New(c, tracker.NewCredentials(c, saved)))
	connected := !c.Token.IsZero() || !known.token.IsZero()
	switch {
	case err == nil:
		return append(out, good("tracker", name+" accepts the access token of "+account))
	case connected && refused(err):
		return append(out, failed("tracker", name+" no longer accepts the access token",
			"connect again at "+d.Config.BaseURL+"/admin/tracker"))
	case connected:
		return append(out, failed("tracker", explain(err), "try again later; see docs/filing.md"))
	case !known.read:
		return append(out, warned("tracker", name+" answers; the access token could not be read from the database",
			"run mishap doctor again while the database runs"))
	case d.Config.AllowBugFiling:
		return append(out, warned("tracker", name+" answers, but mishap is not connected to it, so it files no bugs",
			"connect it at "+d.Config.BaseURL+"/admin/tracker, or set allow_bug_filing to false"))
	}
	return append(out, good("tracker", name+" answers; filing bugs is off"))
}

// refused reports whether the tracker no longer accepts the access token.
func refused(err error) bool {
	known, ok := errors.AsType[*crash.Error](err)
	return ok && known.Code == "tracker_credentials"
}

// readOnlyCredentials holds the access token from the database. It saves nothing. A check of the token calls no
// other methods of the interface.
type readOnlyCredentials struct {
	tracker.CredentialStore

	token crash.SavedToken
}

// SavedToken implements [tracker.CredentialStore].
func (r *readOnlyCredentials) SavedToken(context.Context, crash.TrackerKey) (crash.SavedToken, error) {
	return r.token, nil
}

// SaveConfiguredToken implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveConfiguredToken(context.Context, crash.TrackerKey, crash.AccessToken) error {
	return nil
}

// TokenHealth implements [tracker.CredentialStore].
func (*readOnlyCredentials) TokenHealth(context.Context, crash.TrackerKey, string) (crash.TokenHealth, error) {
	return crash.TokenHealth{}, nil
}

// SaveTokenHealth implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveTokenHealth(context.Context, crash.TrackerKey, string, crash.TokenHealth) error {
	return nil
}
