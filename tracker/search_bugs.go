package tracker

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"mishap/crash"
)

// maxFound bounds the bugs that SearchBugs returns.
const maxFound = 20

// foundTasks is one page of a search.
type foundTasks struct {
	Entries []struct {
		BugLink  string `json:"bug_link"`
		Title    string `json:"title"`
		Status   string `json:"status"`
		Complete bool   `json:"is_complete"`
		Released string `json:"date_fix_released"`
	} `json:"entries"`
}

// taskTitle matches the title of a task: Bug #7 in tidewatch (Ubuntu): "the title".
var taskTitle = regexp.MustCompile(`(?s)^Bug #\d+ in .*?: "(.*)"$`)

// SearchBugs returns bugs of any status that may describe the problem, newest first. It searches
// the source package, or the whole distribution if pkg is empty, for the words of the title and for
// the problem's address. It returns Unavailable or Refused if either search fails.
func (c *Client) SearchBugs(ctx context.Context, pkg, title, marker string) ([]crash.FoundBug, error) {
	target := "/" + escape(c.cfg.Target)
	if pkg != "" && validSource.MatchString(pkg) {
		target += "/+source/" + escape(pkg)
	}
	var found []crash.FoundBug
	for _, words := range []string{SearchWords(title), marker} {
		if words == "" {
			continue
		}
		more, err := c.searchText(ctx, target, words)
		if e, ok := errors.AsType[*CallError](err); ok {
			if e.Status == http.StatusNotFound {
				return nil, crash.Errorf(crash.Refused, "tracker_refused",
					"The tracker does not know the package %s.", pkg).Because(e)
			}
			return nil, sentence(e)
		}
		if err != nil {
			return nil, err
		}
		for _, bug := range more {
			if !slices.ContainsFunc(found, func(b crash.FoundBug) bool { return b.Number == bug.Number }) {
				found = append(found, bug)
			}
		}
	}
	slices.SortFunc(found, func(a, b crash.FoundBug) int { return cmp.Compare(b.Number, a.Number) })
	found = found[:min(len(found), maxFound)]
	c.addFixes(ctx, found)
	return found, nil
}

// maxFixesRead bounds the found bugs whose fixes are read, since each takes another call.
const maxFixesRead = 4

// addFixes adds the versions that have the fix to the first few fixed bugs. It ignores failed
// calls, since the day of the fix is known already.
func (c *Client) addFixes(ctx context.Context, found []crash.FoundBug) {
	var reading sync.WaitGroup
	n := 0
	for i := range found {
		if found[i].Status != crash.FixReleased || n >= maxFixesRead {
			continue
		}
		n++
		reading.Go(func() {
			if fixes, err := c.fixes(ctx, found[i].Number, 0); err == nil {
				found[i].Fixes = fixes
			}
		})
	}
	reading.Wait()
}

// searchText searches for words and returns the first page.
func (c *Client) searchText(ctx context.Context, target, words string) ([]crash.FoundBug, error) {
	page, err := c.foundTasks(ctx, target, words, allStatuses)
	if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusBadRequest {
		page, err = c.foundTasks(ctx, target, words, oldStatuses)
	}
	if err != nil {
		return nil, err
	}
	var found []crash.FoundBug
	for _, e := range page.Entries {
		number, ok := c.bugNumber(e.BugLink)
		if !ok {
			continue // not a bug of this tracker
		}
		title := e.Title
		if m := taskTitle.FindStringSubmatch(title); m != nil {
			title = m[1]
		}
		released, _, _ := strings.Cut(e.Released, "T")
		found = append(found, crash.FoundBug{
			Number: number, Title: Clean(title, maxTitle), Status: Clean(e.Status, 50),
			Closed: e.Complete, Fixed: Clean(released, 10), URL: c.cfg.bugURL(number),
		})
	}
	return found, nil
}

func (c *Client) foundTasks(ctx context.Context, target, words string, statuses []string) (foundTasks, error) {
	query := url.Values{
		"ws.op":           {"searchTasks"},
		"ws.size":         {itoa(maxFound)},
		"search_text":     {encodeJSON(words)},
		"omit_duplicates": {"false"},
		"order_by":        {encodeJSON([]string{"-id"})},
		"status":          {encodeJSON(statuses)},
	}
	var page foundTasks
	err := c.get(ctx, "suggest", c.cfg.link(target)+"?"+query.Encode(), &page)
	return page, err
}

// HasSource reports whether the distribution has a source package with this name. The error is a
// failed call.
func (c *Client) HasSource(ctx context.Context, name string) (bool, error) {
	query := url.Values{"ws.op": {"getSourcePackage"}, "name": {encodeJSON(name)}}
	var found *struct {
		Name string `json:"name"`
	}
	err := c.get(ctx, "package", c.cfg.link("/"+escape(c.cfg.Target))+"?"+query.Encode(), &found)
	return found != nil, err
}

// stopWords are words of titles that say nothing about a fault. The tracker finds only bugs with
// every word of a search.
var stopWords = map[string]bool{
	"crashed": true, "with": true, "in": true, "assert": true, "failure": true, "failed": true, "to": true, "the": true,
	"problem": true, "package": true, "install": true, "upgrade": true, "error": true, "signal": true,
}

// maxSearchWords bounds the words of a search, since more words find fewer bugs.
const maxSearchWords = 3

// SearchWords returns the words of a title that identify its fault. It prefers the name of a
// function, which other reports of the fault would contain. Otherwise it returns up to three
// uncommon words.
func SearchWords(title string) string {
	var names, words []string
	for word := range strings.FieldsSeq(title) {
		name, isFunction := strings.CutSuffix(strings.TrimRight(word, ":;,."), "()")
		name = strings.TrimFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		switch {
		case len(name) < 2 || len(name) > 100:
		case isFunction && name != "main":
			names = append(names, name)
		case !stopWords[strings.ToLower(name)] && !strings.HasPrefix(name, "SIG") && len(words) < maxSearchWords:
			words = append(words, name)
		}
	}
	if len(names) > 0 {
		words = names[:1]
	}
	return strings.Join(words, " ")
}
