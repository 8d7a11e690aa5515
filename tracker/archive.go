package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"mishap/crash"
)

const (
	archivePage  = 200 // entries in one answer
	archivePages = 10  // answers to one question
	maxNames     = 20_000
	published    = "Published"
)

// ReadArchive reads one fact about the distribution's archive. It sends no access token, so it
// finds only public facts. The error is a *CallError; a missing object is not an error.
func (c *Client) ReadArchive(ctx context.Context, w crash.ArchiveWant) (crash.ArchiveFact, error) {
	f := crash.ArchiveFact{ArchiveWant: w}
	if !w.Valid() {
		return f, nil
	}
	var err error
	switch w.Kind {
	case crash.ArchiveSource:
		f.Publications, err = c.publishedSources(ctx, url.Values{"source_name": {encodeJSON(w.Key)}, "status": {published}})
		f.Exists = len(f.Publications) > 0
	case crash.ArchiveVersion:
		name, version, _ := strings.Cut(w.Key, " ")
		f.Publications, err = c.publishedSources(ctx, url.Values{
			"source_name": {encodeJSON(name)}, "version": {encodeJSON(version)},
		})
		f.Exists = len(f.Publications) > 0
	case crash.ArchiveBinary:
		f.Publications, err = c.publishedBinaries(ctx, w.Key)
		f.Exists = len(f.Publications) > 0
	case crash.ArchiveSet:
		series, name, _ := strings.Cut(w.Key, "/")
		address := c.cfg.link("/package-sets/" + escape(c.cfg.Target) + "/" + escape(series) + "/" + escape(name) +
			"?ws.op=getSourcesIncluded")
		f.Exists, err = c.getOpen(ctx, "package set", address, &f.Names)
	case crash.ArchivePerson:
		f.Names, f.Exists, err = c.subscribedPackages(ctx, w.Key)
	}
	if err != nil {
		return crash.ArchiveFact{ArchiveWant: w}, err
	}
	f.Names = slices.DeleteFunc(f.Names, func(name string) bool { return !validSource.MatchString(name) })
	slices.Sort(f.Names)
	f.Names = slices.Compact(f.Names)
	f.Names = f.Names[:min(len(f.Names), maxNames)]
	return f, nil
}

func (c *Client) archiveLink(query url.Values) string {
	return c.cfg.link("/"+escape(c.cfg.Target)+"/+archive/primary") + "?" + query.Encode()
}

func (c *Client) publishedSources(ctx context.Context, query url.Values) ([]crash.Publication, error) {
	query.Set("ws.op", "getPublishedSources")
	query.Set("exact_match", "true")
	query.Set("ws.size", itoa(archivePage))
	type entry struct {
		Version string `json:"source_package_version"`
		Pocket  string `json:"pocket"`
		Series  string `json:"distro_series_link"`
	}
	var list []crash.Publication
	err := entries(ctx, c, "published sources", c.archiveLink(query), func(e entry) {
		list = appendPublication(list, crash.Publication{
			Series: path.Base(e.Series), Pocket: e.Pocket, Version: e.Version,
		})
	})
	return list, err
}

func (c *Client) publishedBinaries(ctx context.Context, name string) ([]crash.Publication, error) {
	query := url.Values{
		"ws.op": {"getPublishedBinaries"}, "exact_match": {"true"}, "status": {published},
		"binary_name": {encodeJSON(name)}, "ws.size": {itoa(archivePage)},
	}
	type entry struct {
		Version string `json:"binary_package_version"`
		Source  string `json:"source_package_name"`
		Pocket  string `json:"pocket"`
		Arch    string `json:"distro_arch_series_link"`
	}
	var list []crash.Publication
	err := entries(ctx, c, "published binaries", c.archiveLink(query), func(e entry) {
		series, arch := path.Base(path.Dir(e.Arch)), path.Base(e.Arch)
		list = appendPublication(list, crash.Publication{
			Series: series, Architecture: arch, Pocket: e.Pocket, Version: e.Version, Source: Clean(e.Source, 100),
		})
	})
	return list, err
}

// appendPublication appends p if it is valid and new.
func appendPublication(list []crash.Publication, p crash.Publication) []crash.Publication {
	for _, text := range []string{p.Series, p.Pocket, p.Version, p.Architecture} {
		if len(text) > 128 || text != Clean(text, 128) {
			return list
		}
	}
	if p.Series == "" || p.Series == "." || p.Version == "" || slices.Contains(list, p) {
		return list
	}
	return append(list, p)
}

// subscribedPackages returns the source packages to whose bugs a person or team is subscribed.
func (c *Client) subscribedPackages(ctx context.Context, person string) (names []string, exists bool, err error) {
	type entry struct {
		Name string `json:"name"`
	}
	query := url.Values{"ws.op": {"getBugSubscriberPackages"}, "ws.size": {itoa(archivePage)}}
	address := c.cfg.link("/~"+escape(person)) + "?" + query.Encode()
	err = entries(ctx, c, "subscribed packages", address, func(e entry) { names = append(names, e.Name) })
	if notThere(err) {
		return nil, false, nil
	}
	return names, err == nil, err
}

// entries calls each for every entry of a collection.
func entries[T any](ctx context.Context, c *Client, operation, address string, each func(T)) error {
	for range archivePages {
		var p page[T]
		found, err := c.getOpen(ctx, operation, address, &p)
		if err != nil {
			return err
		}
		if !found {
			return &CallError{
				Operation: operation, Outcome: OutcomeRefused, Status: http.StatusNotFound, Text: "there is no such thing",
			}
		}
		for _, e := range p.Entries {
			each(e)
		}
		if p.Next == "" {
			return nil
		}
		address = p.Next
	}
	return nil // enough
}

func notThere(err error) bool {
	e, ok := errors.AsType[*CallError](err)
	return ok && e.Status == http.StatusNotFound
}

// getOpen reads one address of the API into v without an access token. It returns false for a 404.
func (c *Client) getOpen(ctx context.Context, operation, address string, v any) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, fmt.Errorf("%s: %w", operation, err)
	}
	if !c.cfg.sameOrigin(req.URL) {
		return false, &CallError{
			Operation: operation, Outcome: OutcomeRefused, Text: "the tracker named an address that is not its own",
		}
	}
	req.Header.Set("Accept", "application/json")
	started := c.cfg.Now()
	a, err := c.exchange(c.reading, operation, req, maxSending)
	c.metrics.took(operation, c.cfg.Now().Sub(started))
	switch {
	case err != nil:
		e := callError(operation, err)
		c.metrics.called(operation, e.Outcome)
		return false, e
	case a.status == http.StatusNotFound:
		c.metrics.called(operation, OutcomeDone)
		return false, nil
	case a.status != http.StatusOK || a.broken != nil:
		e := failure(operation, a)
		c.metrics.called(operation, e.Outcome)
		return false, e
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		c.metrics.called(operation, OutcomeUnknown)
		return false, malformed(operation, a, "the answer is not the JSON that was expected")
	}
	c.metrics.called(operation, OutcomeDone)
	return true, nil
}
