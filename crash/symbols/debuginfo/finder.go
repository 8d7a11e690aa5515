// Package debuginfo finds programs, libraries and debug files by build-id: among the files that
// people added, in a cache, on this machine, and on debuginfod servers. It verifies every file before
// a debugger reads it. It also works out which build of a file a version of a package holds, from packages
// and cores, and which packages a machine had, from its reports. It guesses nothing: a neighbouring
// version says nothing about another one. It does not interpret debug information.
package debuginfo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mishap/crash"
)

// Wanted describes one file to find.
type Wanted struct {
	ID       BuildID
	Kind     Kind
	Machine  elf.Machine
	Class    elf.Class
	Path     string   // of the module on the machine that crashed
	Packages []string // binary and source package of the module, if known
}

// The outcomes of asking one source for a file.
const (
	OutcomeFound    = "found"
	OutcomeMissing  = "missing"   // the source does not have it
	OutcomeUnusable = "unusable"  // the source has a file, but a wrong or damaged one
	OutcomeFailed   = "failed"    // the source did not answer; a later try may succeed
	OutcomeNotAsked = "not asked" // the configuration excludes the file, or it was missing recently
)

// AddedFiles is the source of files that people added.
const AddedFiles = "added files"

// Result says what became of the search for one file. The origin of a file is like
// "http://symbols.example.com (libtide1_1.0_amd64.deb)".
type Result struct {
	crash.SymbolSearch
	HasDWARF bool    // the file holds debug information
	Alt      BuildID // the file needs the debug information of this build, too
}

// Finder finds files. Its methods may be called concurrently.
type Finder struct {
	added   *Folder
	cache   *Folder
	machine string // the root of this machine's file system; empty: not allowed
	shared  Shared // nil: none
	servers []*server
}

// Config is the configuration of a Finder.
type Config struct {
	Added     *Folder  // files that people added
	Cache     *Folder  // files from servers
	Machine   bool     // whether the files of this machine may be used
	Shared    Shared   // files that people added on other instances; nil: none
	Servers   []Server // in order
	UserAgent string

	Transport func(http.RoundTripper) http.RoundTripper // wraps the transport of every request; nil: none
}

// NewFinder returns a Finder.
func NewFinder(c Config) *Finder {
	f := &Finder{added: c.Added, cache: c.Cache, shared: c.Shared}
	if c.Machine {
		f.machine = "/"
	}
	for _, s := range c.Servers {
		f.servers = append(f.servers, newServer(s, c.UserAgent, c.Transport))
	}
	return f
}

// Added returns those of the files that people have added. A file is named BUILD-ID/KIND.
func (f *Finder) Added(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		id, kind, _ := strings.Cut(name, "/")
		file, err := f.added.open(BuildID(id), Kind(kind))
		if err == nil {
			_ = file.Close()
		}
		return err != nil
	})
}

// Find searches a file in all sources, in order, and places the first usable one at the path to,
// which must not exist. It returns an error only if this machine fails (a full disk, for example) or
// ctx is done.
func (f *Finder) Find(ctx context.Context, w Wanted, to string) (Result, error) {
	var r Result
	for _, source := range []struct {
		name string
		open func() (*os.File, string, string, error) // returns the file, its path, its origin
	}{
		{AddedFiles, func() (*os.File, string, string, error) { return openIn(f.added, w) }},
		{"cache", func() (*os.File, string, string, error) { return openIn(f.cache, w) }},
		{"this machine", func() (*os.File, string, string, error) { return f.openOnMachine(w) }},
	} {
		file, path, origin, err := source.open()
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				r.add(source.name, OutcomeUnusable, err.Error())
			} else if source.name != "this machine" || f.machine != "" {
				r.add(source.name, OutcomeMissing, "")
			}
			continue
		}
		info, size, err := verify(file, w)
		if err == nil {
			err = place(file, path, to)
			if err != nil {
				return r, errors.Join(fmt.Errorf("place a file for the debugger: %w", err), file.Close())
			}
			r.found(source.name, origin, size, info)
			return r, file.Close()
		}
		r.add(source.name, OutcomeUnusable, err.Error())
		_ = file.Close() // only read
	}
	if f.shared != nil {
		if err := f.askShared(ctx, w, to, &r); err != nil || r.Found {
			return r, err
		}
	}
	for _, s := range f.servers {
		if err := f.ask(ctx, s, w, to, &r); err != nil || r.Found {
			return r, err
		}
	}
	r.Retry = slices.ContainsFunc(r.Searched, func(a crash.SymbolAttempt) bool { return a.Outcome == OutcomeFailed })
	return r, nil
}

func (r *Result) add(source, outcome, detail string) {
	r.Searched = append(r.Searched, crash.SymbolAttempt{Source: source, Outcome: outcome, Detail: detail})
}

func (r *Result) found(source, origin string, size int64, info Info) {
	r.Found, r.Size, r.HasDWARF, r.Alt = true, size, info.HasDWARF, info.Alt
	r.Origin = source
	if origin != "" {
		r.Origin += " (" + origin + ")"
	}
	r.add(source, OutcomeFound, origin)
}

func openIn(folder *Folder, w Wanted) (*os.File, string, string, error) {
	file, err := folder.open(w.ID, w.Kind)
	if err != nil {
		return nil, "", "", err
	}
	return file, folder.path(w.ID, w.Kind), folder.origin(w.ID, w.Kind), nil
}

// verify returns an unusableError if a file is not the wanted one.
func verify(file *os.File, w Wanted) (info Info, size int64, err error) {
	st, err := file.Stat()
	if err == nil {
		size = st.Size()
		info, err = Inspect(file, size)
	}
	if err == nil {
		err = info.refusal(w)
	}
	if err != nil {
		return Info{}, 0, unusableError{err}
	}
	return info, size, nil
}

const (
	atOnce       = 4                // requests to one server
	idleTimeout  = 90 * time.Second // without any byte; a server may have to unpack a package first
	totalTimeout = 10 * time.Minute // for one file
	maxDownload  = 8 << 30          // bytes of one file
	maxRedirects = 5

	// pause is how long a server is not asked after it has reached a time limit. Without a pause,
	// each file of a core would wait for the limit.
	pause = 5 * time.Minute
)

type server struct {
	Server
	client *http.Client
	agent  string
	slots  chan struct{}
	idle   time.Duration

	mu       sync.Mutex
	failed   error     // the time limit that it reached
	askAgain time.Time // when its pause ends
}

func newServer(s Server, agent string, wrap func(http.RoundTripper) http.RoundTripper) *server {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // so that a file cannot be larger than what crosses the network
	transport.MaxConnsPerHost = atOnce
	var used http.RoundTripper = transport
	if wrap != nil {
		used = wrap(transport)
	}
	client := &http.Client{Transport: used, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects || r.URL.Host != via[0].URL.Host ||
			via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return fmt.Errorf("the server redirects to %s", r.URL.Host)
		}
		return nil
	}}
	return &server{Server: s, client: client, agent: agent, slots: make(chan struct{}, atOnce), idle: idleTimeout}
}

// ask asks one server, unless the configuration or an earlier answer speaks against it. If the file
// is usable, ask places it at the path to and caches it. It returns an error only if this machine
// fails or ctx is done.
func (f *Finder) ask(ctx context.Context, s *server, w Wanted, to string, r *Result) error {
	if !s.Patterns.Match(w.Path, w.Packages...) {
		r.add(s.URL, OutcomeNotAsked, "excluded by debuginfod_urls")
		return nil
	}
	past := f.cache.misses(w.ID, w.Kind)
	if last := past[s.URL]; last.fresh(time.Now()) {
		r.add(s.URL, OutcomeNotAsked, fmt.Sprintf("%s at %s", last.why, last.at.UTC().Format(time.DateTime)))
		return nil
	}
	file, discard, err := f.cache.create()
	if err != nil {
		return err
	}
	defer discard()
	archive, err := s.fetch(ctx, w, file, f.cache.maxBytes)
	if err == nil {
		err = f.keep(file, w, to, s.URL, archive, r)
		if !errors.As(err, new(unusableError)) { // kept, or this machine fails
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errDisk):
		return err
	case errors.Is(err, errMissing):
		r.add(s.URL, OutcomeMissing, "")
		return f.cache.addMiss(w.ID, w.Kind, past, s.URL, OutcomeMissing, time.Now())
	case errors.As(err, new(unusableError)):
		r.add(s.URL, OutcomeUnusable, err.Error())
		return f.cache.addMiss(w.ID, w.Kind, past, s.URL, OutcomeUnusable+": "+err.Error(), time.Now())
	}
	r.add(s.URL, OutcomeFailed, err.Error())
	return nil
}

// keep places a file at the path to and in the cache, if it is usable. Otherwise the error is an
// unusableError.
func (f *Finder) keep(file *os.File, w Wanted, to, source, archive string, r *Result) error {
	info, size, err := verify(file, w)
	if err != nil {
		return err
	}
	if err := place(file, file.Name(), to); err != nil {
		return fmt.Errorf("place a file for the debugger: %w", err)
	}
	r.found(source, archive, size, info)
	if err := f.cache.put(file.Name(), w.ID, w.Kind, r.Origin); err != nil {
		return err
	}
	_ = os.Remove(f.cache.missesPath(w.ID, w.Kind)) // otherwise it expires
	return f.cache.evict()
}

var (
	errMissing = errors.New("the server does not have it")
	errDisk    = errors.New("write a downloaded file")
)

// unusableError marks a file that is wrong or damaged.
type unusableError struct{ error }

func (e unusableError) Unwrap() error { return e.error }

// fetch downloads a file. It returns the name of the package that the server took it from, if the
// server says so.
func (s *server) fetch(ctx context.Context, w Wanted, into *os.File, limit int64) (archive string, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := s.paused(time.Now()); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	giveUp := func(why error) {
		s.pause(why, time.Now())
		cancel(why)
	}
	total := time.AfterFunc(totalTimeout, func() { giveUp(fmt.Errorf("it took longer than %s", totalTimeout)) })
	defer total.Stop()
	idle := time.AfterFunc(s.idle, func() { giveUp(fmt.Errorf("no byte in %s", s.idle)) })
	defer idle.Stop()

	address := s.URL + "/buildid/" + string(w.ID) + "/" + string(w.Kind)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", s.agent)
	resp, err := s.client.Do(req)
	if err != nil {
		if inTime, ok := errors.AsType[net.Error](err); ok && inTime.Timeout() { // of the connection
			s.pause(cause(ctx, err), time.Now())
		}
		return "", cause(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return "", errMissing
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the server answered %s", resp.Status)
	}
	most := int64(maxDownload)
	if limit != 0 {
		most = min(most, limit)
	}
	if err := checkSize(resp, most); err != nil {
		return "", err
	}
	body := &progress{r: resp.Body, touch: func() { idle.Reset(s.idle) }}
	n, err := io.Copy(writes{into}, io.LimitReader(body, most+1))
	switch {
	case errors.Is(err, errDisk):
		return "", err
	case err != nil:
		return "", cause(ctx, err)
	case n > most:
		return "", tooLarge(most)
	}
	if said := resp.Header.Get("X-DEBUGINFOD-SIZE"); said != "" && said != strconv.FormatInt(n, 10) {
		return "", fmt.Errorf("the server sent %d of %s bytes", n, crash.Shorten(said, 20))
	}
	archive = resp.Header.Get("X-DEBUGINFOD-ARCHIVE")
	return crash.Shorten(archive[strings.LastIndexByte(archive, '/')+1:], 200), nil
}

func (s *server) pause(why error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.askAgain = why, now.Add(pause)
}

func (s *server) paused(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.askAgain) {
		return nil
	}
	return fmt.Errorf("the server reached a time limit (%w), so it is not asked until %s", s.failed,
		s.askAgain.UTC().Format(time.DateTime))
}

func checkSize(resp *http.Response, most int64) error {
	if resp.ContentLength > most {
		return tooLarge(most)
	}
	if said, err := strconv.ParseInt(resp.Header.Get("X-DEBUGINFOD-SIZE"), 10, 64); err == nil && said > most {
		return tooLarge(most)
	}
	return nil
}

func tooLarge(most int64) error {
	return unusableError{fmt.Errorf("the file is larger than %d bytes (symbols_cache_max_bytes)", most)}
}

// cause returns why a request failed, without the address, which the caller names.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil && !errors.Is(why, context.Canceled) {
		return why
	}
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		err = inURL.Err
	}
	return errors.New(strings.TrimSpace(crash.Shorten(err.Error(), 200)))
}

type progress struct {
	r     io.Reader
	touch func()
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.touch()
	}
	return n, err
}

// writes marks errors of the disk, in contrast to those of the network.
type writes struct{ w io.Writer }

func (w writes) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if err != nil {
		err = fmt.Errorf("%w: %w", errDisk, err)
	}
	return n, err
}

// Server is one debuginfod server of the configuration.
type Server struct {
	URL      string   // without a slash at the end
	Patterns Patterns // the packages and files it is asked for
}

// Patterns select programs and libraries by package or file, see ParsePatterns. None select all.
type Patterns []string

// ParsePatterns parses patterns that are separated by blanks. With "!" before it, a pattern excludes
// packages. A pattern with a slash applies to the path of the program or library; another one to its
// package, its source package or its file name.
func ParsePatterns(text string) (Patterns, error) {
	var patterns Patterns
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, ",", " ")) {
		if _, err := path.Match(strings.TrimPrefix(word, "!"), "x"); err != nil {
			return nil, fmt.Errorf("%q is not a pattern", word)
		}
		patterns = append(patterns, word)
	}
	return patterns, nil
}

// ParseServers parses the setting debuginfod_urls: addresses of servers in the order in which they
// are asked, separated by blanks. Words behind an address are patterns of the packages that the
// server is asked for (see ParsePatterns).
func ParseServers(text string) ([]Server, error) {
	var servers []Server
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, ",", " ")) {
		if strings.Contains(word, "://") {
			u, err := url.Parse(word)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
				u.RawQuery != "" || u.Fragment != "" {
				return nil, fmt.Errorf("%q is not the address of a server", word)
			}
			servers = append(servers, Server{URL: strings.TrimRight(word, "/")})
			continue
		}
		if len(servers) == 0 {
			return nil, errors.New("it begins with a pattern, not with an address")
		}
		patterns, err := ParsePatterns(word)
		if err != nil {
			return nil, err
		}
		last := &servers[len(servers)-1]
		last.Patterns = append(last.Patterns, patterns...)
	}
	return servers, nil
}

// Match reports whether the patterns select a file of these packages: if no excluding pattern
// matches, and one of the others does, or there are none.
func (all Patterns) Match(file string, packages ...string) bool {
	names := append([]string{path.Base(file)}, packages...)
	matches := func(pattern string) bool {
		if strings.Contains(pattern, "/") {
			ok, err := path.Match(pattern, file)
			return err == nil && ok || strings.HasSuffix(pattern, "/*") && strings.HasPrefix(file, pattern[:len(pattern)-1])
		}
		for _, name := range names {
			if ok, err := path.Match(pattern, name); err == nil && ok && name != "" {
				return true
			}
		}
		return false
	}
	only, wanted := false, false
	for _, p := range all {
		excluded, isExclusion := strings.CutPrefix(p, "!")
		switch {
		case isExclusion && matches(excluded):
			return false
		case !isExclusion:
			only = true
			wanted = wanted || matches(p)
		}
	}
	return wanted || !only
}

// A file BUILD-ID/debuginfo.missing lists the servers that did not have a file, or had an unusable
// one, so that they are not asked again for each core. Its lines hold the time, the number of
// answers, the server and the reason.
const missingSuffix = ".missing"

type miss struct {
	at    time.Time
	count int // answers in a row
	why   string
}

// fresh reports whether a server need not be asked again: for an hour after the first answer, for a
// day after further ones.
func (m miss) fresh(now time.Time) bool {
	age := time.Hour
	if m.count > 1 {
		age = 24 * time.Hour
	}
	return m.count > 0 && now.Sub(m.at) < age
}

func (f *Folder) missesPath(id BuildID, k Kind) string { return f.path(id, k) + missingSuffix }

// misses returns them by server.
func (f *Folder) misses(id BuildID, k Kind) map[string]miss {
	all := map[string]miss{}
	file, err := openRegular(f.missesPath(id, k))
	if err != nil {
		return all
	}
	defer file.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), " ", 4)
		if len(parts) != 4 {
			continue
		}
		at, err1 := strconv.ParseInt(parts[0], 10, 64)
		count, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil {
			all[parts[2]] = miss{time.Unix(at, 0), count, parts[3]}
		}
	}
	return all
}

// addMiss stores all misses, with another one of a server.
func (f *Folder) addMiss(id BuildID, k Kind, all map[string]miss, server, why string, now time.Time) error {
	all[server] = miss{now, all[server].count + 1, strings.Join(strings.Fields(why), " ")}
	temp, discard, err := f.create()
	if err != nil {
		return err
	}
	defer discard()
	for s, m := range all {
		_, err = fmt.Fprintf(temp, "%d %d %s %s\n", m.at.Unix(), m.count, s, m.why)
		if err != nil {
			return fmt.Errorf("folder of symbols: %w", err)
		}
	}
	return f.move(temp.Name(), f.missesPath(id, k))
}

// Folder stores files by build-id, in the layout of debuginfod's own cache: BUILD-ID/executable and
// BUILD-ID/debuginfo. gdb can use it as its cache. A file beside each, such as debuginfo.origin, says
// where it came from. Any number of processes may use one folder.
type Folder struct {
	dir      string
	maxBytes int64
}

const (
	temporary    = ".incoming-" // begins the names of files that are being written
	originSuffix = ".origin"
)

// OpenFolder opens a folder and creates it if it is missing. If maxBytes is not 0, the folder removes
// the files that were not used for the longest time when all together are larger.
func OpenFolder(dir string, maxBytes int64) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("folder of symbols: %w", err)
	}
	if err := crash.RemoveLeftovers(dir, temporary, time.Now()); err != nil {
		return nil, fmt.Errorf("folder of symbols: %w", err)
	}
	return &Folder{dir: dir, maxBytes: maxBytes}, nil
}

func (f *Folder) path(id BuildID, k Kind) string {
	return filepath.Join(f.dir, string(id), string(k))
}

// create creates a file that can be moved to its place when it is complete. discard closes it and, if
// it was not moved, removes it.
func (f *Folder) create() (file *os.File, discard func(), err error) {
	file, err = os.CreateTemp(f.dir, temporary+"*")
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("folder of symbols: %w", err)
	}
	return file, func() {
		_ = os.Remove(file.Name())
		_ = file.Close()
	}, nil
}

func (f *Folder) put(temp string, id BuildID, k Kind, origin string) error {
	// The name of the temporary file makes that of the origin unique, too.
	note := temp + originSuffix
	if err := os.WriteFile(note, []byte(origin+"\n"), 0o644); err != nil {
		return fmt.Errorf("folder of symbols: %w", err)
	}
	defer os.Remove(note) //nolint:errcheck // it is gone if it was moved
	if err := f.move(temp, f.path(id, k)); err != nil {
		return err
	}
	if err := os.Rename(note, f.path(id, k)+originSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder of symbols: %w", err)
	}
	return nil
}

// move moves a file to its place. Eviction may remove the folder while it is empty.
func (f *Folder) move(temp, place string) error {
	if err := crash.InFolder(filepath.Dir(place), func() error { return os.Rename(temp, place) }); err != nil {
		return fmt.Errorf("folder of symbols: %w", err)
	}
	return nil
}

// open opens a file and marks it as used now. The error is fs.ErrNotExist if the file is not there.
func (f *Folder) open(id BuildID, k Kind) (*os.File, error) {
	place := f.path(id, k)
	file, err := openRegular(place)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		_ = os.Chtimes(place, time.Now(), info.ModTime()) // another user's folder: then it is not marked
		return file, nil
	}
	// An empty file: debuginfod's client writes it for a file that no server has.
	return nil, errors.Join(file.Close(), fs.ErrNotExist)
}

func (f *Folder) origin(id BuildID, k Kind) string {
	b, err := os.ReadFile(f.path(id, k) + originSuffix)
	if err != nil {
		return ""
	}
	return crash.Shorten(strings.TrimSpace(string(b)), 500)
}

// Entry is one stored file.
type Entry struct {
	ID     BuildID
	Kind   Kind
	Size   int64
	Used   time.Time // last use
	Origin string    // where it came from; empty: unknown
}

// List returns the stored files, the one with the oldest use first.
func (f *Folder) List() ([]Entry, error) {
	var all []Entry
	builds, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("folder of symbols: %w", err)
	}
	for _, b := range builds {
		id, err := ParseBuildID(b.Name())
		if err != nil {
			continue
		}
		for _, k := range []Kind{Executable, Debuginfo} {
			info, err := os.Stat(f.path(id, k))
			if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
				continue
			}
			all = append(all, Entry{ID: id, Kind: k, Size: info.Size(), Used: usedAt(info), Origin: f.origin(id, k)})
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// evict removes the files that were not used for the longest time, until the rest has at most the
// maximum size. A file that a job uses stays readable, because the job has a link of its own.
func (f *Folder) evict() error {
	if f.maxBytes == 0 {
		return nil
	}
	all, err := f.List()
	if err != nil {
		return err
	}
	var total int64
	for _, e := range all {
		total += e.Size
	}
	for _, e := range all {
		if total <= f.maxBytes {
			break
		}
		place := f.path(e.ID, e.Kind)
		if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("folder of symbols: %w", err)
		}
		_ = os.Remove(place + originSuffix)
		_ = os.Remove(filepath.Dir(place)) // unless it holds something else
		total -= e.Size
	}
	return nil
}

// place makes an open file available under another name: as a hard link, or as a copy if that name is
// on another file system.
func place(file *os.File, from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(file, 0, 1<<62))
	return errors.Join(err, out.Close())
}

// Added says what became of one file that Add was given or found.
type Added struct {
	Name    string // path, or path of the package and of the file in it
	ID      BuildID
	Kind    Kind
	Known   bool  // it was stored before
	Refused error // why it was not stored; nil: it is stored

	// In packages:
	Package Package
	Path    string // that the package installs the file at
}

// Add stores a program, library or debug file, all of those in a folder and the folders below it, or
// all of those in a Debian package (.deb, .ddeb). It calls report for each of them. In folders and
// packages it ignores files of other formats. It returns an error if it cannot go on.
func (f *Folder) Add(ctx context.Context, name string, report func(Added)) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return f.addFile(ctx, name, true, report)
	}
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			report(Added{Name: path, Refused: err})
			return nil //nolint:nilerr // reported; the others are added
		}
		if !d.Type().IsRegular() {
			return ctx.Err()
		}
		return f.addFile(ctx, path, false, report)
	})
}

// addFile stores one file or the files of one package. If it must be one of these, others are
// reported as refused.
func (f *Folder) addFile(ctx context.Context, name string, must bool, report func(Added)) error {
	file, err := openRegular(name)
	if err != nil {
		report(Added{Name: name, Refused: err})
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	start := make([]byte, len(arMagic))
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		report(Added{Name: name, Refused: err})
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch start := start[:n]; {
	case bytes.HasPrefix(start, []byte(elf.ELFMAG)):
		return f.addELF(ctx, file, name, filepath.Base(name), report)
	case string(start) == arMagic && (must || isPackageName(name)):
		return f.addPackage(ctx, file, name, report)
	case must:
		report(Added{Name: name, Refused: errors.New("neither an ELF file nor a Debian package")})
	}
	return ctx.Err()
}

func (f *Folder) addELF(ctx context.Context, in io.Reader, name, origin string, report func(Added)) error {
	temp, discard, err := f.create()
	if err != nil {
		return err
	}
	defer discard()
	size, err := io.Copy(writes{temp}, crash.UntilDone(ctx, in))
	if errors.Is(err, errDisk) || ctx.Err() != nil {
		return err
	}
	var info Info
	if err == nil {
		info, err = Inspect(temp, size)
	}
	switch {
	case err != nil:
	case info.ID == "":
		err = errors.New("it has no build-id; link it with -Wl,--build-id")
	case len(info.kinds()) == 0:
		err = errors.New("it holds neither code nor debug information")
	}
	if err != nil {
		report(Added{Name: name, Refused: err})
		return nil
	}
	for i, k := range info.kinds() {
		if file, err := f.open(info.ID, k); err == nil {
			_ = file.Close() // only opened to see that it is there
			report(Added{Name: name, ID: info.ID, Kind: k, Known: true})
			continue
		}
		from := temp.Name()
		if i+1 < len(info.kinds()) { // the file serves as both
			from += ".first"
			if err := os.Link(temp.Name(), from); err != nil {
				return fmt.Errorf("folder of symbols: %w", err)
			}
		}
		if err := f.put(from, info.ID, k, origin); err != nil {
			return err
		}
		report(Added{Name: name, ID: info.ID, Kind: k})
	}
	return nil
}

// Shared is where every instance finds the files that were added on another one.
type Shared interface {
	// Put stores a file of this size, unless there is one already.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error)
	// Open returns n bytes of a file from an offset, or all if n is negative. The error is
	// fs.ErrNotExist if there is none.
	Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error)
}

const sharedFiles = "shared files"

func sharedKey(id BuildID, k Kind) string { return "symbols/" + string(id) + "/" + string(k) }

// Share stores a file of the folder in to.
func (f *Folder) Share(ctx context.Context, to Shared, id BuildID, k Kind) error {
	file, err := openRegular(f.path(id, k))
	if err != nil {
		return fmt.Errorf("share a file of symbols: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err == nil {
		_, err = to.Put(ctx, sharedKey(id, k), file, info.Size())
	}
	if err != nil {
		return fmt.Errorf("share a file of symbols: %w", err)
	}
	return nil
}

// askShared searches a file among those that were added on other instances, and caches it.
func (f *Finder) askShared(ctx context.Context, w Wanted, to string, r *Result) error {
	content, err := f.shared.Open(ctx, sharedKey(w.ID, w.Kind), 0, -1)
	if errors.Is(err, fs.ErrNotExist) {
		r.add(sharedFiles, OutcomeMissing, "")
		return nil
	}
	if err == nil {
		err = f.fetchShared(ctx, content, w, to, r)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(unusableError)):
		r.add(sharedFiles, OutcomeUnusable, err.Error())
	case errors.Is(err, crash.Unavailable):
		r.add(sharedFiles, OutcomeFailed, err.Error())
	default:
		return err
	}
	return nil
}

func (f *Finder) fetchShared(ctx context.Context, content io.ReadCloser, w Wanted, to string, r *Result) error {
	defer content.Close() //nolint:errcheck // only read
	file, discard, err := f.cache.create()
	if err != nil {
		return err
	}
	defer discard()
	if _, err := io.Copy(file, crash.UntilDone(ctx, content)); err != nil {
		return fmt.Errorf("fetch a shared file: %w", err)
	}
	return f.keep(file, w, to, sharedFiles, "", r)
}
