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
	oopsPattern   = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	bucketPattern = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)
	systemPattern = regexp.MustCompile(`^[0-9a-f]{128}$`)
	bugPattern    = regexp.MustCompile(`^(?i:#|lp: ?#?|bug ?#?)?([0-9]{1,12})$`)

	// Addresses of pages of mishap, and of bugs in a tracker.
	pagePattern    = regexp.MustCompile(`^(?i:https?://[^/\s]+)?/(problem|oops|user|bug)/([^/?#\s]+)(?:[?#]\S*)?$`)
	trackerPattern = regexp.MustCompile(`^(?i:https?://[^/\s]+)/(?:[^?#\s]*/)?\+?bugs?/([0-9]{1,12})(?:[/?#]\S*)?$`)
)

// identifierIn extracts the identifier from the address of a page or of a bug in a tracker, or
// from "oops:…". It returns other texts unchanged.
func identifierIn(text string) string {
	if match := trackerPattern.FindStringSubmatch(text); match != nil {
		return "#" + match[1]
	}
	match := pagePattern.FindStringSubmatch(text)
	if match == nil {
		return strings.TrimPrefix(text, "oops:")
	}
	id, err := url.PathUnescape(match[2])
	switch {
	case err != nil:
		return text
	case match[1] == "user":
		return "system:" + id
	case match[1] == "bug":
		return "#" + id
	}
	return id
}

// resolve returns the page that a text identifies by id, number or address: of a report,
// problem, machine or bug. If nothing matches, page is empty and missing names the kind of
// thing. Both are empty for a text to search for. Only signed-in users find reports and
// machines.
func (s *Lists) resolve(r *http.Request, text string) (page string, missing views.Missing, err error) {
	ctx, signedIn := r.Context(), web.CurrentUser(r).Role.Allows(crash.RoleViewer)
	text = identifierIn(text)
	system, isSystem := strings.CutPrefix(text, "system:")
	switch {
	case oopsPattern.MatchString(text):
		missing = views.MissingReport
		id, parseErr := crash.ParseOopsID(strings.ToLower(text))
		if err = parseErr; err == nil && signedIn {
			_, err = s.Store.ReportSystem(ctx, id)
			page = "/oops/" + id.String()
		}
	case isSystem || systemPattern.MatchString(text):
		missing = views.MissingMachine
		if signedIn {
			rows, listErr := s.Problems.SystemReports(ctx, crash.NewSystemID(system), crash.OopsID{}, 1)
			if err = listErr; len(rows) > 0 {
				page = "/user/" + url.PathEscape(system)
			}
		}
	case bucketPattern.MatchString(text):
		missing = views.MissingProblem
		id, parseErr := crash.ParseBucketID(strings.ToLower(text))
		if err = parseErr; err == nil {
			_, err = s.Store.Bucket(ctx, id)
			page = id.Path()
		}
	case bugPattern.MatchString(text):
		number, parseErr := strconv.ParseInt(bugPattern.FindStringSubmatch(text)[1], 10, 64)
		if parseErr != nil {
			return "", "", nil //nolint:nilerr // too large for a bug number: search for the text
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

// isNumber reports whether a text has only digits, and so may also be a search term.
func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }
