package tracker

import (
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mishap/crash"
)

// Member is a tracker of the configuration.
type Member struct {
	Config
	Creds *Credentials
}

// Site is a place where bugs are filed: a tracker, or one project of a tracker that numbers bugs in each project.
type Site struct {
	Member          // its Target is the project, if bugs are numbered in projects
	Project string  // empty: the tracker numbers all its bugs
	Tracker Tracker // the numbers of its bugs include the place
	Editor  Editor  // nil: the tracker cannot change descriptions

	place     int
	forwarder Forwarder // nil: the tracker cannot mark bugs as forwarded
}

// Place returns the number of the place; see [crash.NumberAt].
func (s *Site) Place() int { return s.place }

// Forward records the address of another bug in a bug, as [Forwarder] does. The outcome is refused if the tracker
// cannot do that.
func (s *Site) Forward(ctx context.Context, number int64, address string) error {
	if s.forwarder == nil {
		return &CallError{Operation: "forward", Outcome: OutcomeRefused, Text: "bugs cannot be marked as forwarded"}
	}
	return s.forwarder.Forward(ctx, crash.NumberInTracker(number), address)
}

// Check tries the access token of the site's tracker and returns the name of its account. Its errors are those of
// Explain.
func (s *Site) Check(ctx context.Context) (string, error) {
	name, err := s.Tracker.Me(ctx)
	return name, s.explained(err)
}

// explained is like Explained, and names the tracker.
func (s *Site) explained(err error) error {
	if e, ok := errors.AsType[*CallError](err); ok {
		e.By = s.called()
	}
	return Explained(err)
}

// PlaceStore numbers the places of bugs, as package db/bugs describes.
type PlaceStore interface {
	BugPlaces(ctx context.Context) (map[int]crash.BugPlace, error)
	AddBugPlace(ctx context.Context, p crash.BugPlace) error
}

// Sites are all places where bugs are filed. They are safe for concurrent use.
type Sites struct {
	store   PlaceStore
	members []Member

	mu    sync.Mutex
	known map[int]*Site
}

// NewSites returns the places of trackers. Bugs go to the first one that is not upstream's unless a route says
// otherwise.
func NewSites(store PlaceStore, members ...Member) *Sites {
	s := &Sites{store: store, known: map[int]*Site{}}
	var linked []string
	for _, m := range members {
		m.Config = m.WithDefaults()
		s.members = append(s.members, m)
		linked = append(linked, m.URL)
	}
	for i := range s.members {
		s.members[i].Linked = linked
	}
	return s
}

func newSite(m Member, project string, place int, t Tracker) *Site {
	site := &Site{Member: m, Project: project, Tracker: t, place: place}
	site.forwarder, _ = t.(Forwarder)
	if place == 0 {
		site.Editor, _ = t.(Editor)
	} else {
		site.Tracker = placed{t, place}
	}
	return site
}

// Members returns the trackers of the configuration.
func (s *Sites) Members() []Member { return s.members }

// HasUpstream reports whether any tracker is that of upstream projects.
func (s *Sites) HasUpstream() bool {
	return slices.ContainsFunc(s.members, func(m Member) bool { return m.Upstream })
}

// Names returns the names of the trackers.
func (s *Sites) Names() []string {
	names := make([]string, len(s.members))
	for i, m := range s.members {
		names[i] = m.Name
	}
	return names
}

// First returns the tracker that gets bugs without a route, or of upstream's trackers the first, and false if there is
// none.
func (s *Sites) First(upstream bool) (Member, bool) {
	i := slices.IndexFunc(s.members, func(m Member) bool { return m.Upstream == upstream })
	if i < 0 {
		return Member{}, false
	}
	return s.members[i], true
}

// Member returns a tracker by its name, and false if the configuration has none of that name.
func (s *Sites) Member(name string) (Member, bool) {
	i := slices.IndexFunc(s.members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{}, false
	}
	return s.members[i], true
}

// Check tries the access token of a tracker and returns the name of its account. Its errors are those of Explain, or
// Unavailable with the code no_tracker.
func (s *Sites) Check(ctx context.Context, name string) (string, error) {
	m, ok := s.Member(name)
	if !ok {
		return "", errNoTracker(name)
	}
	return (&Site{Member: m, Tracker: m.Kind.New(m.Config, m.Creds)}).Check(ctx)
}

func errNoTracker(name string) *crash.Error {
	return errNotConfigured("the tracker “" + Clean(name, 40) + "”")
}

func errNotConfigured(what string) *crash.Error {
	e := crash.Errorf(crash.Unavailable, "no_tracker", "This instance's configuration lacks %s. An administrator can "+
		"add its [[tracker]] table. Nothing is lost.", what)
	e.RetryAfter = defaultRetryAfter
	return e
}

// At returns the site of a tracker and a project, which is empty if the tracker numbers all its bugs. The place gets a
// number if it has none. At returns Unavailable with the code no_tracker if the tracker is not in the configuration.
func (s *Sites) At(ctx context.Context, name, project string) (*Site, error) {
	m, ok := s.Member(name)
	if !ok {
		return nil, errNoTracker(name)
	}
	if site := s.find(name, project); site != nil {
		return site, nil
	}
	p := crash.BugPlace{Tracker: name, Project: project, Upstream: m.Upstream}
	if err := s.store.AddBugPlace(ctx, p); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if site := s.find(name, project); site != nil {
		return site, nil
	}
	return nil, errNoTracker(name)
}

func (s *Sites) find(name, project string) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, site := range s.known {
		if site.Name == name && site.Project == project {
			return site
		}
	}
	return nil
}

// Of returns the site of a bug. It returns Unavailable with the code no_tracker if its tracker is not in the
// configuration.
func (s *Sites) Of(ctx context.Context, number int64) (*Site, error) {
	place := crash.PlaceOf(number)
	if site := s.at(place); site != nil {
		return site, nil
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if site := s.at(place); site != nil {
		return site, nil
	}
	return nil, errNotConfigured("the tracker of bug " + crash.BugText(number))
}

func (s *Sites) at(place int) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[place]
}

// All returns the sites of all places that have a number and whose tracker is in the configuration, by their numbers.
func (s *Sites) All(ctx context.Context) ([]*Site, error) {
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Site, 0, len(s.known))
	for _, site := range s.known {
		all = append(all, site)
	}
	slices.SortFunc(all, func(a, b *Site) int { return a.place - b.place })
	return all, nil
}

// Others returns the sites of all trackers but the first, also those in which no bug has been filed yet if the
// configuration names them.
func (s *Sites) Others(ctx context.Context) ([]*Site, error) {
	for _, m := range s.members {
		project := ""
		if m.PerProject() {
			project = m.Target
		}
		if m.Name == crash.FirstTracker || strings.Contains(project, "{") {
			continue
		}
		if _, err := s.At(ctx, m.Name, project); err != nil {
			return nil, err
		}
	}
	all, err := s.All(ctx)
	return slices.DeleteFunc(all, func(site *Site) bool { return site.Name == crash.FirstTracker }), err
}

// load adds the places that other instances have numbered since. A change of the configuration to or from upstream
// applies to the places of the tracker, too.
func (s *Sites) load(ctx context.Context) error {
	places, err := s.store.BugPlaces(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for number, p := range places {
		m, ok := s.Member(p.Tracker)
		if !ok || s.known[number] != nil {
			continue
		}
		if p.Upstream != m.Upstream {
			p.Upstream = m.Upstream
			if err := s.store.AddBugPlace(ctx, p); err != nil {
				return err
			}
		}
		if p.Project != "" {
			m.Target = p.Project
		}
		s.known[number] = newSite(m, p.Project, number, m.Kind.New(m.Config, m.Creds))
	}
	return nil
}

// BugURL returns the address of the page of a bug, or an empty text if its tracker is not in the configuration.
func (s *Sites) BugURL(ctx context.Context, number int64) string {
	site, err := s.Of(ctx, number)
	if err != nil {
		return ""
	}
	return site.Tracker.BugURL(number)
}

// PlaceOf returns where a bug is, or the zero value if its tracker is not in the configuration.
func (s *Sites) PlaceOf(ctx context.Context, number int64) crash.BugPlace {
	site, err := s.Of(ctx, number)
	if err != nil {
		return crash.BugPlace{}
	}
	return crash.BugPlace{Tracker: site.Name, Project: site.Project, Upstream: site.Upstream}
}

// BugText returns what people call a bug; see [crash.Bug.Text].
func (s *Sites) BugText(ctx context.Context, number int64) string {
	return crash.Bug{Number: number, Place: s.PlaceOf(ctx, number)}.Text()
}

var errNoBugNumber = crash.Errorf(crash.Unprocessable, "not_a_bug",
	"This is neither a bug number nor the address of a bug.")

// BugNumber reads what a person enters for a bug: the address of its page in any of the trackers, its name, such as
// "debian#123", "GNOME/mutter#12" or "mutter#12", if its project has a bug here, or a number, which is that of the
// first tracker. It returns Unprocessable for anything else.
func (s *Sites) BugNumber(ctx context.Context, text string) (int64, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return s.fromAddress(u, func(name, project string) (*Site, error) { return s.At(ctx, name, project) })
	}
	name, digits, named := strings.Cut(text, "#")
	if name = strings.TrimSpace(name); named && name != "" && !strings.EqualFold(name, "bug") &&
		!strings.EqualFold(strings.TrimRight(name, ": "), "lp") {
		return s.fromName(ctx, name, digits)
	}
	m, ok := s.First(false)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > maxNumber { // with the place, as pages write it
		if _, err := s.Of(ctx, n); err == nil {
			return n, nil
		}
	}
	if !ok {
		return 0, errNoBugNumber
	}
	if m.PerProject() {
		return 0, crash.Errorf(crash.Unprocessable, "which_project",
			"A number alone does not say in which project of %s the bug is. Enter the address of its page.", m.Title)
	}
	site, err := s.At(ctx, m.Name, "")
	if err != nil {
		return 0, err
	}
	for _, prefix := range []string{"lp:", "lp", "bug"} {
		if len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
			text = strings.TrimSpace(text[len(prefix):])
			break
		}
	}
	return site.number(strings.TrimPrefix(text, "#"))
}

// maxNumber is the largest number of a bug in a tracker that numbers of mishap have room for.
const maxNumber = 1<<40 - 1

func (s *Site) number(digits string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n < 1 || n > maxNumber {
		return 0, errNoBugNumber
	}
	return crash.NumberAt(s.place, n), nil
}

func (s *Sites) fromName(ctx context.Context, name, digits string) (int64, error) {
	if m, ok := s.Member(name); ok && !m.PerProject() {
		site, err := s.At(ctx, name, "")
		if err != nil {
			return 0, err
		}
		return site.number(digits)
	}
	all, err := s.All(ctx)
	if err != nil {
		return 0, err
	}
	var short []*Site // those that pages call by this name
	for _, site := range all {
		if strings.EqualFold(site.Project, name) {
			return site.number(digits)
		}
		if strings.EqualFold(path.Base(site.Project), name) {
			short = append(short, site)
		}
	}
	if len(short) == 1 {
		return short[0].number(digits)
	}
	return 0, crash.Errorf(crash.Unprocessable, "not_this_tracker", "No tracker and no single project here has the name "+
		"%q. Enter the address of the bug's page.", Clean(name, 100))
}

// KnownBug returns the number of the bug at an address, or 0 if the text is no such address, or the bug is in a place
// that has no number yet. Unlike BugNumber, it never numbers one, so anyone may call it.
func (s *Sites) KnownBug(ctx context.Context, address string) int64 {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return 0
	}
	if _, err := s.All(ctx); err != nil {
		return 0
	}
	number, err := s.fromAddress(u, func(name, project string) (*Site, error) {
		if site := s.find(name, project); site != nil {
			return site, nil
		}
		return nil, errNoBugNumber
	})
	if err != nil {
		return 0
	}
	return number
}

func (s *Sites) fromAddress(u *url.URL, at func(name, project string) (*Site, error)) (int64, error) {
	onTracker := false
	for _, m := range s.members {
		page, ok := m.below(u)
		if !ok {
			continue
		}
		onTracker = true
		found := m.Kind.Address.FindStringSubmatch(page)
		if found == nil {
			continue
		}
		project := ""
		if m.PerProject() {
			if project = found[1]; !m.Kind.Targets.MatchString(project) {
				continue
			}
		}
		site, err := at(m.Name, project)
		if err != nil {
			return 0, err
		}
		return site.number(found[len(found)-1])
	}
	if onTracker {
		return 0, errNoBugNumber
	}
	return 0, crash.Errorf(crash.Unprocessable, "not_this_tracker",
		"This address belongs to none of the trackers in the configuration.")
}

// below returns the path and query of u below the address of the tracker, or of its API. Pages for bugs may have
// "bugs." before the host.
func (m Member) below(u *url.URL) (string, bool) {
	for _, address := range []string{m.URL, m.APIURL} {
		own, err := url.Parse(address)
		if err != nil || own.Host == "" ||
			!strings.EqualFold(u.Host, own.Host) && !strings.EqualFold(u.Host, "bugs."+own.Host) {
			continue
		}
		if page, ok := strings.CutPrefix(u.Path, own.Path); ok {
			if u.RawQuery != "" {
				page += "?" + u.RawQuery
			}
			return page, true
		}
	}
	return "", false
}

// placed is a tracker whose bugs have numbers with a place.
type placed struct {
	Tracker
	place int
}

func (p placed) As(creds *Credentials) Tracker { return placed{p.Tracker.As(creds), p.place} }

// key adds the place to a number of the tracker. It returns 0 for a number that no tracker has.
func (p placed) key(number int64) int64 {
	if number < 1 || number > maxNumber {
		return 0
	}
	return crash.NumberAt(p.place, number)
}

func (p placed) Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	number, err := p.Tracker.Create(ctx, in, sendBy)
	if err == nil && p.key(number) == 0 {
		err = &CallError{Operation: "create", Outcome: OutcomeUnknown, Text: "the answer has an impossible number"}
	}
	return p.key(number), err
}

func (p placed) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	var here []int64
	for _, number := range others {
		if crash.PlaceOf(number) == p.place {
			here = append(here, crash.NumberInTracker(number))
		}
	}
	number, err := p.Tracker.FindBug(ctx, in, since, here, senders...)
	return p.key(number), err
}

func (p placed) Subscribe(ctx context.Context, number int64, account string) error {
	return p.Tracker.Subscribe(ctx, crash.NumberInTracker(number), account)
}

func (p placed) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	r, err := p.Tracker.ReadState(ctx, crash.NumberInTracker(number))
	r.Number, r.DuplicateOf = p.key(r.Number), p.key(r.DuplicateOf)
	return r, err
}

func (p placed) Changed(ctx context.Context, since time.Time) ([]int64, error) {
	numbers, err := p.Tracker.Changed(ctx, since)
	for i := range numbers {
		numbers[i] = p.key(numbers[i])
	}
	return numbers, err
}

func (p placed) Comment(ctx context.Context, number int64, text string) error {
	return p.Tracker.Comment(ctx, crash.NumberInTracker(number), text)
}

func (p placed) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	return p.Tracker.HasComment(ctx, crash.NumberInTracker(number), match)
}

func (p placed) BugURL(number int64) string { return p.Tracker.BugURL(crash.NumberInTracker(number)) }
