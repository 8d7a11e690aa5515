package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	peopleview "mishap/views/people"
)

// NeedTriager returns middleware that requires the right to decide about problems. If the address names
// a problem, that must be the right for its package. Other handlers check the packages themselves.
func (s *Kit) NeedTriager(next http.Handler) http.Handler {
	return s.need(crash.RoleTriager, crash.User.MayTriageSome)(s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if err := checkProblemInPath(s, r); err != nil {
			return err
		}
		next.ServeHTTP(w, r)
		return nil
	}))
}

const (
	// maxGroupAge is how old groups may be when a person changes something as an administrator.
	maxGroupAge = 12 * time.Hour
	// GroupsDue is the age at which groups are stated again by those that can do so without asking the
	// person: providers with a refresh token, and proxies.
	GroupsDue = maxGroupAge / 2
)

// NeedAdmin returns middleware that requires the role admin. Before a change, a person who has that role
// only from groups, which were stated long ago, signs in again and comes back.
func (s *Kit) NeedAdmin(next http.Handler) http.Handler {
	return s.Need(crash.RoleAdmin)(s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if SafeMethods[r.Method] || CurrentUser(r).Manual.Allows(crash.RoleAdmin) {
			next.ServeHTTP(w, r)
			return nil
		}
		identities, err := s.people.Identities(r.Context(), CurrentUser(r).ID)
		if err != nil {
			return err
		}
		now, err := IsAdminNow(s, r, FreshIdentities(s, identities))
		if err != nil {
			return err
		}
		if !now {
			return AskToSignInAgain(s, w, r)
		}
		next.ServeHTTP(w, r)
		return nil
	}))
}

var errOldGroups = crash.Errorf(crash.Unauthenticated, "old_groups", "%s", "Your role comes from your groups, "+
	"which were last checked more than 12 hours ago. Nothing was changed. Sign in again to continue.")

// AskToSignInAgain refuses a change because groups were stated too long ago for one.
func AskToSignInAgain(s *Kit, w http.ResponseWriter, r *http.Request) error {
	return askToSignInAgain(s, w, r, errOldGroups)
}

// askToSignInAgain refuses a request because groups are too old, as why says, and leads back to it after
// signing in again.
func askToSignInAgain(s *Kit, w http.ResponseWriter, r *http.Request, why *crash.Error) error {
	page := SafeMethods[r.Method] && formatOf(r) == formatPage
	if VisitOf(r).Token != nil || WantsPart(r) || !page && !IsForm(r) {
		return why
	}
	form := peopleview.SignInForm{Next: ReturnPath(r), Problem: why.Message}
	if s.saveable(r) {
		form.Next, form.SavedForm = formPath(r), encodeForm(r.PostForm)
	}
	return s.SendSignIn(w, r, http.StatusUnauthorized, form)
}

// FreshIdentities returns those of the person's identities whose groups count for a change: they were
// stated within maxGroupAge.
func FreshIdentities(s *Kit, identities []crash.StoredIdentity) []crash.StoredIdentity {
	return slices.DeleteFunc(slices.Clone(identities), func(i crash.StoredIdentity) bool {
		return s.Now().Sub(i.GroupsRead) > maxGroupAge
	})
}

// IsAdminNow reports whether the role that was given to the person by hand, or these identities,
// give the role admin.
func IsAdminNow(s *Kit, r *http.Request, identities []crash.StoredIdentity) (bool, error) {
	u := CurrentUser(r)
	if !u.Role.Allows(crash.RoleAdmin) || u.Manual.Allows(crash.RoleAdmin) {
		return u.Role.Allows(crash.RoleAdmin), nil
	}
	grants, err := s.people.Grants(r.Context())
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(crash.RoleReasons(u, identities, grants, crash.RoleNone),
		func(reason crash.RoleReason) bool {
			return reason.Role.Allows(crash.RoleAdmin)
		}), nil
}

// checkProblemInPath returns Forbidden if the address names a problem about which the person may not
// decide.
func checkProblemInPath(s *Kit, r *http.Request) error {
	route := chi.RouteContext(r.Context())
	if CurrentUser(r).Role.Allows(crash.RoleTriager) || route == nil ||
		!strings.HasPrefix(route.RoutePattern(), "/problem/{id}") {
		return nil
	}
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	b, err := s.store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return CheckTriage(r, b.SourcePackage)
}

// CheckTriage returns Forbidden if the person may not decide about problems of any of these source
// packages.
func CheckTriage(r *http.Request, sources ...string) error {
	for _, source := range sources {
		if err := CurrentUser(r).CheckTriage(source); err != nil {
			return err
		}
	}
	return nil
}

// Triageable returns those of the problems about which the person may decide, and the number of the
// others. It returns Forbidden if there is none.
func Triageable(r *http.Request, buckets []crash.Bucket) (some []crash.Bucket, refused int64, err error) {
	for _, b := range buckets {
		if CurrentUser(r).MayTriage(b.SourcePackage) {
			some = append(some, b)
		}
	}
	if len(some) == 0 && len(buckets) > 0 {
		return nil, 0, CheckTriage(r, buckets[0].SourcePackage)
	}
	return some, int64(len(buckets) - len(some)), nil
}

// Readable returns the highest class of fields that the person may read in reports of a source
// package.
func Readable(r *http.Request, source string) privacy.Class {
	return privacy.Readable(CurrentUser(r), source)
}

// PermitsFacet reports whether readers up to a class may compare reports by a field.
func PermitsFacet(s *Kit, readable privacy.Class, field stats.FacetField) bool {
	names, excerpt := field.Sources()
	return s.Config.Privacy.Permits(readable, names, excerpt)
}

// HideMachines replaces the machines in rows that the person may not know. It returns a copy.
func HideMachines(r *http.Request, rows []crash.ReportRow) []crash.ReportRow {
	u := CurrentUser(r)
	if u.Private.All {
		return rows
	}
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i].System = u.VisibleSystem(row.System, row.SourcePackage)
	}
	return rows
}

// WithRefused returns a message about selected problems, with the number of those that were refused.
func WithRefused(message string, refused int64) string {
	if refused == 0 {
		return message
	}
	return message + " " + crash.Counted(refused, "problem was", "problems were") + " left unchanged, because you are " +
		"not a triager of " + crash.Plural(refused, "its package", "their packages") + ". Somebody who is an " +
		"administrator here can change that."
}

// Visitors see the same redacted text as in bugs: pages, feeds, files and the API must not contain
// private data. The caches hold unredacted values, and each page for a visitor redacts what it
// shows.

// IsPublic reports whether the current user may not read reports, so that the answer must be
// redacted.
func IsPublic(r *http.Request) bool { return !CurrentUser(r).Role.Allows(crash.RoleViewer) }

// SeenBucket returns b, redacted if the current user may not read reports.
func (s *Kit) SeenBucket(r *http.Request, b crash.Bucket) crash.Bucket {
	if IsPublic(r) {
		return privacy.RedactBucket(b)
	}
	return b
}

// SeenRow returns a row of the index, redacted if the current user may not read reports.
func SeenRow(r *http.Request, row index.Row) index.Row {
	if IsPublic(r) {
		return row.ForVisitors()
	}
	return row
}

// SeenLabels returns names, without those that the current user may not see.
func SeenLabels[T ~string](r *http.Request, names []T) []T {
	if IsPublic(r) {
		return privacy.RedactLabels(names)
	}
	return names
}

// SeenLabel returns a name, redacted if the current user may not read reports.
func SeenLabel[T ~string](r *http.Request, name T) T {
	if IsPublic(r) {
		return privacy.RedactLabel(name)
	}
	return name
}

// SearchFilter narrows filter by a query and returns a function that matches problems, or nil to
// match all. For visitors, filter and function see problems as visitors do; otherwise they could
// find out hidden text by trial.
func SearchFilter(r *http.Request, q index.Query, filter index.Filter) (index.Filter, func(*index.Problem) bool) {
	q = q.For(CurrentUser(r).Names())
	filter = q.Narrow(filter)
	filter.Public = IsPublic(r)
	return filter, q.Matcher()
}
