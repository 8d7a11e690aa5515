package debuginfo

import (
	"bufio"
	"context"
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
	"strconv"
	"strings"
	"sync"
	"time"

	"mishap/crash"
)

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
func (f *Finder) ask(ctx context.Context, s *server, w Wanted, to string, r *Result) (Attempt, error) {
	a := Attempt{Source: s.URL, Outcome: OutcomeNotAsked}
	if !s.Patterns.Match(w.Path, w.Packages...) {
		a.Detail = "excluded by debuginfod_urls"
		return a, nil
	}
	past := f.cache.misses(w.ID, w.Kind)
	if last := past.of(s.URL); last.fresh(time.Now()) {
		a.Detail = fmt.Sprintf("%s at %s", last.why, last.at.UTC().Format(time.DateTime))
		return a, nil
	}
	file, err := f.cache.create()
	if err != nil {
		return a, err
	}
	defer func() {
		_ = os.Remove(file.Name()) // it is gone if it was moved into its place
		_ = file.Close()
	}()
	archive, err := s.fetch(ctx, w, file, f.cache.maxBytes)
	if ctx.Err() != nil {
		return a, ctx.Err()
	}
	if err == nil {
		var info Info
		var size int64
		if info, size, err = verify(file, w); err == nil {
			return a, f.keep(file, w, to, s.URL, archive, size, info, r)
		}
		err = unusableError{err}
	}
	a.Outcome, a.Detail = OutcomeFailed, err.Error()
	switch {
	case errors.Is(err, errMissing):
		a.Outcome, a.Detail = OutcomeMissing, ""
	case errors.As(err, new(unusableError)):
		a.Outcome = OutcomeUnusable
	case errors.Is(err, errDisk):
		return a, err
	}
	if a.Outcome != OutcomeFailed {
		if err := f.cache.addMiss(w.ID, w.Kind, past, s.URL, a, time.Now()); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (f *Finder) keep(file *os.File, w Wanted, to, url, archive string, size int64, info Info, r *Result) error {
	if err := place(file, file.Name(), to); err != nil {
		return fmt.Errorf("place a file for the debugger: %w", err)
	}
	r.found(url, archive, size, info)
	if err := f.cache.put(file.Name(), w.ID, w.Kind, r.Origin); err != nil {
		return err
	}
	f.cache.forgetMisses(w.ID, w.Kind)
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
			return nil, fmt.Errorf("%q is no pattern", word)
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
				return nil, fmt.Errorf("%q is no address of a server", word)
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

type misses map[string]miss

func (m misses) of(server string) miss { return m[server] }

func (f *Folder) missesPath(id BuildID, k Kind) string { return f.path(id, k) + missingSuffix }

func (f *Folder) misses(id BuildID, k Kind) misses {
	file, err := openRegular(f.missesPath(id, k))
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	all := misses{}
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

func (f *Folder) addMiss(id BuildID, k Kind, past misses, server string, a Attempt, now time.Time) error {
	all := misses{}
	for s, m := range past {
		all[s] = m
	}
	why := string(a.Outcome)
	if a.Detail != "" {
		why += ": " + strings.Join(strings.Fields(a.Detail), " ")
	}
	all[server] = miss{now, past.of(server).count + 1, why}
	var b strings.Builder
	for s, m := range all {
		_, _ = fmt.Fprintf(&b, "%d %d %s %s\n", m.at.Unix(), m.count, s, m.why)
	}
	temp, err := f.create()
	if err != nil {
		return err
	}
	_, err = temp.WriteString(b.String())
	err = errors.Join(err, temp.Close())
	if err == nil {
		place := f.missesPath(id, k)
		err = crash.InFolder(filepath.Dir(place), func() error { return os.Rename(temp.Name(), place) })
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("folder of symbols: %w", err)
	}
	return nil
}

func (f *Folder) forgetMisses(id BuildID, k Kind) {
	if err := os.Remove(f.missesPath(id, k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // they expire by themselves
	}
}
