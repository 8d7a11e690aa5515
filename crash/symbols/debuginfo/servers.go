package debuginfo

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

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
