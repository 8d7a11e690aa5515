package launchpad

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// Bug is a bug as the API returns it.
type Bug struct {
	Number      int64    `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Private     bool     `json:"private"`
	DuplicateOf string   `json:"duplicate_of_link"` // link of the original bug; empty: not a duplicate

	InformationType string `json:"information_type"`
	MessageCount    int    `json:"message_count"`
	ETag            string `json:"http_etag"` // for ChangeDescription
}

// ReadBug reads one bug. A bug that is missing, or that our account may not see, is a *tracker.CallError
// with status 404. The texts are raw: tracker.Clean or escape them before showing them.
func (c *Client) ReadBug(ctx context.Context, number int64) (Bug, error) {
	var bug Bug
	err := c.call.Get(ctx, "bug", c.link("/bugs/"+itoa(number)), &bug)
	return bug, err
}

// Description reads the description of a bug and its entity tag.
func (c *Client) Description(ctx context.Context, number int64) (text, etag string, err error) {
	bug, err := c.ReadBug(ctx, number)
	if err != nil || bug.Private || bug.DuplicateOf != "" {
		return "", "", err
	}
	return bug.Description, bug.ETag, nil
}

// ChangeDescription replaces the description of a bug, unless anyone has changed the bug since it was
// read with this entity tag. The error is a *tracker.CallError, or as for Comment. With status 412, the bug
// has changed. With tracker.OutcomeUnknown, the description may have been replaced; reading tells.
func (c *Client) ChangeDescription(ctx context.Context, number int64, etag, description string) error {
	const operation = "change"
	body, err := json.Marshal(map[string]string{"description": description})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, c.link("/bugs/"+itoa(number)), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("If-Match", etag)
	a, err := c.call.Change(operation, req, tracker.MaxSending)
	if err != nil {
		return err
	}
	var changed Bug
	if a.Status >= 200 && a.Status < 300 {
		// A page of a proxy is no answer: only the changed bug is.
		if a.Broken != nil || json.Unmarshal(a.Body, &changed) != nil || changed.Number != number {
			return c.call.Malformed(ctx, operation, a, "the answer does not say whether the description was changed")
		}
		c.call.Done(ctx, operation, "")
		return nil
	}
	return c.call.Failed(ctx, operation, a)
}

// Subscribe subscribes an account of the tracker to a bug. It may be repeated.
func (c *Client) Subscribe(ctx context.Context, number int64, account string) error {
	const operation = "subscribe"
	form := url.Values{"ws.op": {"subscribe"}, "person": {encodeJSON(c.link("/~" + url.PathEscape(account)))}}
	a, err := c.post(ctx, operation, c.link("/bugs/"+itoa(number)), form, tracker.MaxSending)
	if err != nil {
		return err
	}
	return c.call.Confirm(ctx, operation, a, http.StatusOK, "the answer does not say whether the account was subscribed")
}

// BugURL returns the address of the page of a bug.
func (c *Client) BugURL(number int64) string { return c.cfg.URL + "/bugs/" + itoa(number) }

var bugPath = regexp.MustCompile(`/bugs/([1-9][0-9]{0,11})$`) // below the numbers that mishap can keep

// bugNumber returns the number in the API's address of a bug, which must be on the tracker.
func (c *Client) bugNumber(address string) (int64, bool) {
	u, err := c.cfg.API().Parse(address)
	if err != nil || address == "" || !c.cfg.OnAPI(u) || u.RawQuery != "" || u.Fragment != "" {
		return 0, false
	}
	m := bugPath.FindStringSubmatch(u.EscapedPath())
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{0,99}$`)

// Account looks up an account of the tracker by its name, "ada" or "~ada", and returns the plain
// name. It returns Unprocessable if there is no such account, and the errors of Check if the call
// fails.
func (c *Client) Account(ctx context.Context, name string) (string, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "~")
	if !accountName.MatchString(name) {
		return "", crash.Errorf(crash.Unprocessable, "bad_account",
			"An account name has lower-case letters, digits, plus signs, dots and hyphens.")
	}
	var person struct {
		Name string `json:"name"`
	}
	err := c.call.Get(ctx, "person", c.link("/~"+url.PathEscape(name)), &person)
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case failed && e.Status != http.StatusNotFound:
		return "", tracker.Explain(e)
	case err != nil && !failed:
		return "", err
	case person.Name != name: // also if there was no answer
		return "", crash.Errorf(crash.Unprocessable, "unknown_account", "The tracker has no account with the name %s.", name)
	}
	return name, nil
}

const (
	archivePage  = 200 // entries in one answer
	archivePages = 10  // answers to one question
	maxNames     = 20_000
	published    = "Published"
)

// ReadArchive reads one fact about the distribution's archive. It sends no access token, so it
// finds only public facts. The error is a *tracker.CallError; a missing object is not an error.
func (c *Client) ReadArchive(ctx context.Context, w crash.ArchiveWant) (crash.ArchiveFact, error) {
	c = &Client{cfg: c.cfg, call: c.call.As(nil)}
	f := crash.ArchiveFact{ArchiveWant: w}
	if !w.Valid() {
		return f, nil
	}
	var err error
	switch w.Kind {
	case crash.ArchiveSource:
		f.Publications, err = c.publishedSources(ctx, url.Values{"source_name": {encodeJSON(w.Key)}, "status": {published}})
	case crash.ArchiveVersion:
		name, version, _ := strings.Cut(w.Key, " ")
		f.Publications, err = c.publishedSources(ctx, url.Values{
			"source_name": {encodeJSON(name)}, "version": {encodeJSON(version)},
		})
	case crash.ArchiveBinary:
		f.Publications, err = c.publishedBinaries(ctx, w.Key)
	case crash.ArchiveSet:
		series, name, _ := strings.Cut(w.Key, "/")
		address := c.link("/package-sets/" + tracker.Escape(c.cfg.Target) + "/" + tracker.Escape(series) +
			"/" + tracker.Escape(name) + "?ws.op=getSourcesIncluded")
		err = c.call.Get(ctx, "package set", address, &f.Names)
		f.Exists = err == nil
		if missing(err) {
			err = nil
		}
	case crash.ArchivePerson:
		f.Names, f.Exists, err = c.subscribedPackages(ctx, w.Key)
	}
	if err != nil {
		return crash.ArchiveFact{ArchiveWant: w}, err
	}
	f.Exists = f.Exists || len(f.Publications) > 0
	f.Names = slices.DeleteFunc(f.Names, func(name string) bool { return !tracker.IsSource(name) })
	slices.Sort(f.Names)
	f.Names = slices.Compact(f.Names)
	f.Names = f.Names[:min(len(f.Names), maxNames)]
	return f, nil
}

func (c *Client) archiveLink(query url.Values) string {
	return c.link("/"+tracker.Escape(c.cfg.Target)+"/+archive/primary") + "?" + query.Encode()
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
	entries, _, err := collect[entry](ctx, c, "published sources", c.archiveLink(query), archivePages)
	var list []crash.Publication
	for _, e := range entries {
		list = appendPublication(list, crash.Publication{
			Series: path.Base(e.Series), Pocket: e.Pocket, Version: e.Version,
		})
	}
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
	entries, _, err := collect[entry](ctx, c, "published binaries", c.archiveLink(query), archivePages)
	var list []crash.Publication
	for _, e := range entries {
		series, arch := path.Base(path.Dir(e.Arch)), path.Base(e.Arch)
		list = appendPublication(list, crash.Publication{
			Series: series, Architecture: arch, Pocket: e.Pocket, Version: e.Version, Source: tracker.Clean(e.Source, 100),
		})
	}
	return list, err
}

func appendPublication(list []crash.Publication, p crash.Publication) []crash.Publication {
	for _, text := range []string{p.Series, p.Pocket, p.Version, p.Architecture} {
		if len(text) > 128 || text != tracker.Clean(text, 128) {
			return list
		}
	}
	if p.Series == "" || p.Series == "." || p.Version == "" || slices.Contains(list, p) {
		return list
	}
	return append(list, p)
}

func (c *Client) subscribedPackages(ctx context.Context, person string) (names []string, exists bool, err error) {
	type entry struct {
		Name string `json:"name"`
	}
	query := url.Values{"ws.op": {"getBugSubscriberPackages"}, "ws.size": {itoa(archivePage)}}
	address := c.link("/~"+tracker.Escape(person)) + "?" + query.Encode()
	entries, _, err := collect[entry](ctx, c, "subscribed packages", address, archivePages)
	if missing(err) {
		return nil, false, nil
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, err == nil, err
}

const (
	maxFound = 20
	maxTitle = 200 // characters of the title of a found bug
)

var taskTitle = regexp.MustCompile(`(?s)^Bug #\d+ in .*?: "(.*)"$`)

// SearchBugs returns bugs of any status that may describe the problem, newest first. It searches
// the source package, or the whole distribution if pkg is empty, for the words of the title and for
// the problem's address. It returns Unavailable or Refused if either search fails.
func (c *Client) SearchBugs(ctx context.Context, pkg, title, marker string) ([]crash.FoundBug, error) {
	target := "/" + tracker.Escape(c.cfg.Target)
	if pkg != "" && tracker.IsSource(pkg) {
		target += "/+source/" + tracker.Escape(pkg)
	}
	var found []crash.FoundBug
	for _, words := range []string{tracker.SearchWords(title), marker} {
		if words == "" {
			continue
		}
		more, err := c.searchText(ctx, target, words)
		if e, ok := errors.AsType[*tracker.CallError](err); ok {
			if e.Status == http.StatusNotFound {
				return nil, crash.Errorf(crash.Refused, "tracker_refused",
					"The tracker does not know the package %s.", pkg).Because(e)
			}
			return nil, tracker.Explain(e)
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

func (c *Client) searchText(ctx context.Context, target, words string) ([]crash.FoundBug, error) {
	tasks, _, err := c.searchTasks(ctx, "suggest", target, 1, url.Values{
		"ws.size":     {itoa(maxFound)},
		"search_text": {encodeJSON(words)},
		"order_by":    {encodeJSON([]string{"-id"})},
	})
	var found []crash.FoundBug
	for _, e := range tasks {
		number, ok := c.bugNumber(e.Bug)
		if !ok {
			continue // not a bug of this tracker
		}
		title := e.Title
		if m := taskTitle.FindStringSubmatch(title); m != nil {
			title = m[1]
		}
		released, _, _ := strings.Cut(e.Released, "T")
		found = append(found, crash.FoundBug{
			Number: number, Title: tracker.Clean(title, maxTitle), Status: tracker.Clean(e.Status, 50),
			Closed: e.Complete, Fixed: tracker.Clean(released, 10), URL: c.BugURL(number),
		})
	}
	return found, err
}

// HasSource reports whether the distribution has a source package with this name. The error is a
// failed call.
func (c *Client) HasSource(ctx context.Context, name string) (bool, error) {
	query := url.Values{"ws.op": {"getSourcePackage"}, "name": {encodeJSON(name)}}
	var found *struct {
		Name string `json:"name"`
	}
	err := c.call.Get(ctx, "package", c.link("/"+tracker.Escape(c.cfg.Target))+"?"+query.Encode(), &found)
	return found != nil, err
}

const maxPages = 200

// Statuses of the tracker. A search without a list finds open bugs only. Some trackers do not know
// the newer statuses, and refuse a search with an unknown one.
var (
	oldStatuses = []string{
		"New", "Incomplete", "Opinion", "Invalid", "Won't Fix", "Expired", "Confirmed", "Triaged", "In Progress",
		"Fix Committed", "Fix Released",
	}
	allStatuses = append([]string{"Deferred", "Does Not Exist", "Unknown"}, oldStatuses...)
)

type foundTask struct {
	Bug      string `json:"bug_link"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Complete bool   `json:"is_complete"`
	Released string `json:"date_fix_released"`
}

const timeFormat = "2006-01-02T15:04:05+00:00"

// searchTasks reads at most limit pages of a search for bugs of any status on a target; "/bugs" stands
// for the whole tracker. whole reports whether these are all.
func (c *Client) searchTasks(
	ctx context.Context, operation, target string, limit int, query url.Values,
) (tasks []foundTask, whole bool, err error) {
	query.Set("ws.op", "searchTasks")
	query.Set("omit_duplicates", "false")
	for _, statuses := range [][]string{allStatuses, oldStatuses} {
		query.Set("status", encodeJSON(statuses))
		tasks, whole, err = collect[foundTask](ctx, c, operation, c.link(target)+"?"+query.Encode(), limit)
		if tracker.AnswerStatus(err) != http.StatusBadRequest {
			break
		}
	}
	return tasks, whole, err
}

// FindBug searches for the bug of an intent. The bug's description contains the intent's marker,
// and one of our accounts, present or former, or one of the senders filed it since a given time.
//
// FindBug includes closed bugs and duplicates, and skips the bugs in others. It searches the target
// first, then the whole tracker, because a person may have moved the bug. It returns the lowest
// number, or 0 if there is certainly no such bug. After an error the result is unknown. The error
// is a *tracker.CallError, or Unavailable with the code tracker_credentials.
func (c *Client) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return 0, err
	}
	accounts, err := c.creds.Accounts(ctx, me, senders...)
	if err != nil {
		return 0, err
	}
	seen := map[int64]bool{}
	for _, n := range others {
		seen[n] = true
	}
	for _, target := range []string{in.Target, "/bugs"} {
		var found int64
		for _, account := range accounts {
			tasks, err := c.filedBy(ctx, account, target, since)
			if gone(err, account != me, target == in.Target) {
				continue
			}
			if err != nil {
				return 0, err
			}
			number, err := c.marked(ctx, tasks, in.Marker, seen)
			if err != nil {
				return 0, err
			}
			if number != 0 && (found == 0 || number < found) {
				found = number
			}
		}
		if found != 0 {
			return found, nil
		}
	}
	return 0, nil
}

// gone reports whether a search failed because a former account, or the package, is no longer in
// the tracker.
func gone(err error, former, onTarget bool) bool {
	e, ok := errors.AsType[*tracker.CallError](err)
	return ok && (former && e.Status == http.StatusBadRequest && strings.HasPrefix(e.Text, "bug_reporter:") ||
		onTarget && e.Status == http.StatusNotFound)
}

// marked returns the lowest number of the bugs whose description holds the marker, or 0. It skips
// the bugs in seen, and adds those that it reads.
func (c *Client) marked(
	ctx context.Context, tasks []foundTask, marker string, seen map[int64]bool,
) (found int64, err error) {
	for _, t := range tasks {
		number, ok := c.bugNumber(t.Bug)
		if !ok {
			return 0, c.call.Unusable(ctx, "search", "the search names a bug that is not the tracker's own")
		}
		if found != 0 && number >= found || seen[number] {
			continue
		}
		seen[number] = true
		bug, err := c.ReadBug(ctx, number)
		if tracker.AnswerStatus(err) == http.StatusNotFound {
			continue // hidden since the search, so not a public filing
		}
		if err != nil {
			return 0, err
		}
		if strings.Contains(bug.Description, marker) {
			found = number
		}
	}
	return found, nil
}

// filedBy returns the bugs that an account has filed on a target since a time; zero stands for all.
func (c *Client) filedBy(ctx context.Context, account, target string, since time.Time) ([]foundTask, error) {
	query := url.Values{
		"bug_reporter": {encodeJSON(c.link("/~" + account))},
		"order_by":     {encodeJSON([]string{"id"})},
	}
	if since.IsZero() {
		query.Set("ws.size", "300") // the maximum
	} else {
		query.Set("created_since", encodeJSON(since.Add(-tracker.SearchMargin).UTC().Format(timeFormat)))
	}
	tasks, whole, err := c.searchTasks(ctx, "search", target, maxPages, query)
	if err == nil && !whole {
		return nil, c.call.Unusable(ctx, "search", "the search has no end")
	}
	return tasks, err
}

// People are accounts of the tracker with which people file bugs through mishap.
type People struct {
	Accounts []string
	Since    time.Time // bugs that they filed earlier are not searched for
}

// StrayBugs returns the bugs without a link that our account has ever filed under the target, and
// those of people that name a problem of this installation. It includes closed bugs and duplicates,
// but not bugs that our account may not see. The errors are those of Check.
func (c *Client) StrayBugs(ctx context.Context, linked tracker.LinkedBugs, people People) ([]tracker.Stray, error) {
	me, err := tracker.Check(ctx, c)
	if err != nil {
		return nil, err
	}
	strays, err := c.strays(ctx, me, linked, people)
	return strays, tracker.Explained(err)
}

func (c *Client) strays(
	ctx context.Context, me string, linked tracker.LinkedBugs, people People,
) ([]tracker.Stray, error) {
	numbers, err := c.bugsOf(ctx, me, time.Time{})
	if err != nil {
		return nil, err
	}
	own := len(numbers)
	for _, account := range people.Accounts {
		of, err := c.bugsOf(ctx, account, people.Since)
		if gone(err, account != me, false) {
			continue
		}
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, of...)
	}
	withLink, err := linked(ctx, numbers)
	if err != nil {
		return nil, err
	}
	skip := map[int64]bool{}
	for _, n := range withLink {
		skip[n] = true
	}
	var out []tracker.Stray
	for i, n := range numbers {
		if skip[n] {
			continue
		}
		skip[n] = true // a bug with several tasks is listed once for each
		bug, err := c.ReadBug(ctx, n)
		if tracker.AnswerStatus(err) == http.StatusNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		stray := tracker.Stray{Number: n, Title: tracker.Clean(bug.Title, maxName), URL: c.BugURL(n)}
		stray.Bucket, stray.Marker = c.cfg.ProblemIn(bug.Description)
		if i >= own && !strings.HasPrefix(stray.Marker, c.cfg.BaseURL+"/") {
			continue // people file bugs by hand, too
		}
		out = append(out, stray)
	}
	return out, nil
}

func (c *Client) bugsOf(ctx context.Context, account string, since time.Time) ([]int64, error) {
	tasks, err := c.filedBy(ctx, account, "/"+c.cfg.Target, since)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, 0, len(tasks))
	for _, t := range tasks {
		n, ok := c.bugNumber(t.Bug)
		if !ok {
			return nil, c.call.Unusable(ctx, "search", "the search names a bug that is not the tracker's own")
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
