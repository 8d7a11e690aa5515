package problems

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

var (
	oopsForm   = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	bucketForm = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)
	systemForm = regexp.MustCompile(`^[0-9a-f]{128}$`)
	bugForm    = regexp.MustCompile(`^(?i:#|lp: ?#?|bug ?#?)?([0-9]{1,12})$`)

	// Addresses of pages here, of bugs in trackers.
	pageForm    = regexp.MustCompile(`^(?i:https?://[^/\s]+)?/(problem|oops|user|bug)/([^/?#\s]+)(?:[?#]\S*)?$`)
	trackerForm = regexp.MustCompile(`^(?i:https?://[^/\s]+)/(?:[^?#\s]*/)?\+?bugs?/([0-9]{1,12})(?:[/?#]\S*)?$`)
)

// named takes from a text what it names, when it is an address of a page here or of a bug in a tracker, or says itself what it
// is: "oops:…".
func named(text string) string {
	if at := trackerForm.FindStringSubmatch(text); at != nil {
		return "#" + at[1]
	}
	at := pageForm.FindStringSubmatch(text)
	if at == nil {
		return strings.TrimPrefix(text, "oops:")
	}
	id, err := url.PathUnescape(at[2])
	switch {
	case err != nil:
		return text
	case at[1] == "user":
		return "system:" + id
	case at[1] == "bug":
		return "#" + id
	}
	return id
}

// namedBy is the page of what a text names: a report, problem, machine or bug, by its id, number or address. The page is empty
// when there is no such thing, and missing then says what was named; both are empty for a text that is to be searched for.
// Reports and machines are found by those only who may see them.
func (s *Lists) namedBy(r *http.Request, text string) (page string, missing views.Missing, err error) {
	ctx, signedIn := r.Context(), web.CurrentUser(r).Role.Allows(crash.RoleViewer)
	text = named(text)
	system, isSystem := strings.CutPrefix(text, "system:")
	switch {
	case oopsForm.MatchString(text):
		missing = views.MissingReport
		id, parseErr := crash.ParseOopsID(strings.ToLower(text))
		if err = parseErr; err == nil && signedIn {
			_, err = s.Store.ReportSystem(ctx, id)
			page = "/oops/" + id.String()
		}
	case isSystem || systemForm.MatchString(text):
		missing = views.MissingMachine
		if signedIn {
			rows, listErr := s.Reports.SystemReports(ctx, crash.NewSystemID(system), crash.OopsID{}, 1)
			if err = listErr; len(rows) > 0 {
				page = "/user/" + url.PathEscape(system)
			}
		}
	case bucketForm.MatchString(text):
		missing = views.MissingProblem
		id, parseErr := crash.ParseBucketID(strings.ToLower(text))
		if err = parseErr; err == nil {
			_, err = s.Store.Bucket(ctx, id)
			page = id.Path()
		}
	case bugForm.MatchString(text):
		number, parseErr := strconv.ParseInt(bugForm.FindStringSubmatch(text)[1], 10, 64)
		if parseErr != nil {
			return "", "", nil //nolint:nilerr // more digits than a bug's number has: a text like any other
		}
		buckets, bugErr := s.Bugs.BucketsOfBug(ctx, number)
		if err = bugErr; len(buckets) > 0 {
			page = "/bug/" + strconv.FormatInt(number, 10)
		} else if !isNumber(text) {
			missing = views.MissingBug
		}
	case strings.Contains(text, ":"):
		id := crash.BucketIDOf(text)
		_, err = s.Store.Bucket(ctx, id)
		page = id.Path()
	}
	if kind := crash.KindOf(err); kind == crash.NotFound || kind == crash.Invalid {
		return "", missing, nil
	}
	if err != nil || page != "" {
		return page, "", err
	}
	return "", missing, nil
}

// isNumber: a number alone is also a word.
func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }
