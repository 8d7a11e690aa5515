// Package debuginfo finds programs, libraries and debug files by build-id: among the files that
// people added, in a cache, on this machine, and on debuginfod servers. It verifies every file before
// a debugger reads it. It also works out which build of a file a version of a package holds, from packages
// and cores, and which packages a machine had, from its reports. It guesses nothing: a neighbouring
// version says nothing about another one. It does not interpret debug information.
package debuginfo

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
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

// Outcome is what asking one source for a file came to.
type Outcome string

// The outcomes.
const (
	OutcomeFound    Outcome = "found"
	OutcomeMissing  Outcome = "missing"   // the source does not have it
	OutcomeUnusable Outcome = "unusable"  // the source has a file, but a wrong or damaged one
	OutcomeFailed   Outcome = "failed"    // the source did not answer; a later try may succeed
	OutcomeNotAsked Outcome = "not asked" // the configuration excludes the file, or it was missing recently
)

// AddedFiles is the source of files that people added.
const AddedFiles = "added files"

// Attempt is the answer of one source.
type Attempt struct {
	Source  string  `json:"source"` // AddedFiles, "cache", "this machine" or the address of a server
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"` // where the file came from, or why it was not used
}

// Result says what became of the search for one file.
type Result struct {
	Found    bool
	Origin   string // "http://symbols.example.com (libtide1_1.0_amd64.deb)"
	Size     int64
	HasDWARF bool      // the file holds debug information
	Alt      BuildID   // the file needs the debug information of this build, too
	Attempts []Attempt // in order
}

// Retry reports whether a later search may find what this one did not.
func (r Result) Retry() bool {
	if r.Found {
		return false
	}
	for _, a := range r.Attempts {
		if a.Outcome == OutcomeFailed {
			return true
		}
	}
	return false
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
				r.Attempts = append(r.Attempts, Attempt{source.name, OutcomeUnusable, err.Error()})
			} else if source.name != "this machine" || f.machine != "" {
				r.Attempts = append(r.Attempts, Attempt{source.name, OutcomeMissing, ""})
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
		r.Attempts = append(r.Attempts, Attempt{source.name, OutcomeUnusable, err.Error()})
		_ = file.Close() // only read
	}
	if f.shared != nil {
		a, err := f.askShared(ctx, w, to, &r)
		if err != nil || r.Found {
			return r, err
		}
		r.Attempts = append(r.Attempts, a)
	}
	for _, s := range f.servers {
		a, err := f.ask(ctx, s, w, to, &r)
		if err != nil {
			return r, err
		}
		if r.Found {
			return r, nil
		}
		r.Attempts = append(r.Attempts, a)
	}
	return r, nil
}

func (r *Result) found(source, origin string, size int64, info Info) {
	r.Found, r.Size, r.HasDWARF, r.Alt = true, size, info.HasDWARF, info.Alt
	r.Origin = source
	if origin != "" {
		r.Origin += " (" + origin + ")"
	}
	r.Attempts = append(r.Attempts, Attempt{source, OutcomeFound, origin})
}

func openIn(folder *Folder, w Wanted) (*os.File, string, string, error) {
	file, err := folder.open(w.ID, w.Kind)
	if err != nil {
		return nil, "", "", err
	}
	return file, folder.path(w.ID, w.Kind), folder.origin(w.ID, w.Kind), nil
}

func verify(file *os.File, w Wanted) (Info, int64, error) {
	st, err := file.Stat()
	if err != nil {
		return Info{}, 0, err
	}
	info, err := Inspect(file, st.Size())
	if err != nil {
		return Info{}, 0, err
	}
	if wrong := info.refusal(w); wrong != "" {
		return Info{}, 0, errors.New(wrong)
	}
	return info, st.Size(), nil
}
