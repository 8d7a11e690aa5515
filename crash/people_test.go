package crash_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

func TestTokenText(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^mshp_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 1000 {
		token, hint := crash.NewTokenText()
		if !form.MatchString(token) || !strings.HasSuffix(token, hint) || len(hint) != 8 || seen[token] {
			t.Fatalf("got %q, %q, want a new token of fixed width", token, hint)
		}
		seen[token] = true
		if err := crash.CheckTokenText(token); err != nil {
			t.Fatalf("%q: %v", token, err)
		}
	}
	// The checksum was computed with zlib.crc32 of Python.
	const known = "mshp_" + "0000000000000000000000000000000000000000001" + "0hnupX"
	if err := crash.CheckTokenText(known); err != nil {
		t.Errorf("known token: %v", err)
	}
	for i := len("mshp_"); i < len(known); i++ { // every single wrong character
		mistyped := known[:i] + string(rune('0'+(known[i]-'0'+1)%10)) + known[i+1:]
		checktest.Equal(t, mistyped, codeOf(crash.CheckTokenText(mistyped)), "mistyped_token")
	}
	for text, want := range map[string]string{
		"": "bad_token", "Bearer x": "bad_token", known[1:]: "bad_token", "mishap_" + strings.Repeat("x", 94): "bad_token",
		known[:20]: "mistyped_token", known + "x": "mistyped_token", "mshp_": "mistyped_token",
		strings.Replace(known, "0000", "0ü0", 1): "mistyped_token", "mishap_abcdefgh": "",
	} {
		checktest.Equal(t, text, codeOf(crash.CheckTokenText(text)), want)
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	e, _ := errors.AsType[*crash.Error](err)
	return e.Code
}

// TestOldScopes checks that tokens of the old form keep what their scopes allowed, and that new ones
// have only their scopes.
func TestOldScopes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		hint   string
		scope  crash.Scope
		allows string
	}{
		{"mishap_abcd", crash.ScopeRead, "read read-private admin"},
		{"mishap_abcd", crash.ScopeFile, "triage file"},
		{"mishap_abcd", "upload", ""}, // a scope of an earlier version
		{"abcd1234", crash.ScopeRead, "read"},
		{"abcd1234", crash.ScopeFile, "file"},
		{"abcd1234", crash.ScopeAdmin, "admin"},
	} {
		var got []string
		for _, s := range crash.Scopes {
			if (crash.APIToken{Hint: tt.hint, Scopes: []crash.Scope{tt.scope}}).Allows(s) {
				got = append(got, string(s))
			}
		}
		if strings.Join(got, " ") != tt.allows {
			t.Errorf("%s with %s: got %v, want %s", tt.hint, tt.scope, got, tt.allows)
		}
	}
}

// TestNextDigest checks that there is one digest on each day at the reader's hour, also on the days
// when clocks change.
func TestNextDigest(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	checktest.NoError(t, err)
	for hour := range 24 {
		s := crash.MailSettings{Mode: crash.MailDaily, Hour: hour, Zone: "Europe/Berlin"}
		for _, month := range []time.Month{time.March, time.October} {
			at := time.Date(2026, month, 20, 23, 59, 0, 0, berlin)
			for day := 21; day <= 31; day++ {
				at = s.NextDigest(at).In(berlin)
				missing := month == time.March && day == 29 && hour == 2 // clocks go from 2 to 3
				if at.Day() != day || at.Hour() != hour && !missing {
					t.Errorf("digest at %d h: got %v, want day %d of %v", hour, at, day, month)
				}
			}
		}
	}
	weekly := crash.MailSettings{Mode: crash.MailWeekly, Hour: 8, Weekday: time.Monday, Zone: "UTC"}
	monday := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	for _, after := range []time.Time{monday.Add(-time.Second), monday.AddDate(0, 0, -7)} {
		if got := weekly.NextDigest(after); !got.Equal(monday) {
			t.Errorf("weekly after %v: got %v, want %v", after, got, monday)
		}
	}
}

// noon is a time without meaning.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// work returns the work of a person for whom notices of these kinds wait, numbered from 1.
func work(s crash.MailSettings, kinds ...crash.EventKind) crash.MailWork {
	s.Address = "ada@example.org"
	w := crash.MailWork{Settings: s}
	for i, k := range kinds {
		w.Waiting = append(w.Waiting, crash.WaitingNotice{ID: int64(i + 1), Kind: k, At: noon})
	}
	return w
}

func TestPlanLimit(t *testing.T) {
	t.Parallel()
	kinds := make([]crash.EventKind, 57)
	for i := range kinds {
		kinds[i] = crash.EventNew
	}
	kinds[56] = crash.EventRegressed
	w := work(crash.DefaultMailSettings, kinds...)
	p := w.Plan(noon)
	last := p.Mails[len(p.Mails)-1]
	if len(p.Mails) != 21 || p.Mails[0].Notices[0] != 57 || last.Kind != crash.MailSummary || len(last.Notices) != 37 {
		t.Errorf("got %v, want the regression, 19 other mails, and a summary of 37", p.Mails)
	}
	w.Sent, w.Summaries = 20, 1
	if p = w.Plan(noon); len(p.Mails) != 0 || len(p.Held) != 57 {
		t.Errorf("after that: got %d mails and %d held, want all held", len(p.Mails), len(p.Held))
	}
	for i := range w.Waiting {
		w.Waiting[i].Held = true
	}
	w.Sent, w.Summaries = 0, 0
	if p = w.Plan(noon); len(p.Mails) != 1 || p.Mails[0].Kind != crash.MailSummary || len(p.Mails[0].Notices) != 57 {
		t.Errorf("an hour later: got %v, want one summary of all", p.Mails)
	}
}

func TestPlanQuietHours(t *testing.T) {
	t.Parallel()
	s := crash.DefaultMailSettings
	s.Quiet = &crash.QuietHours{From: 22, To: 7}
	s.KindsOff = []crash.EventKind{crash.EventQuiet}
	night := noon.Add(11 * time.Hour)
	p := work(s, crash.EventNew, crash.EventTracker, crash.EventQuiet).Plan(night)
	if len(p.Mails) != 1 || p.Mails[0].Notices[0] != 2 || len(p.None) != 1 || p.None[0] != 3 {
		t.Errorf("at night: got %+v, want only the alert; and no mail about the kind that is off", p)
	}
	for hours, want := range map[int]int{9: 1, 10: 0, 18: 0, 19: 1} { // 21, 22, 6 and 7 o'clock
		if p := work(s, crash.EventNew).Plan(noon.Add(time.Duration(hours) * time.Hour)); len(p.Mails) != want {
			t.Errorf("after %d h: got %d mails, want %d", hours, len(p.Mails), want)
		}
	}
	s.Mode, s.Hour = crash.MailDaily, 6
	w := work(s, crash.EventNew, crash.EventRefused)
	if p := w.Plan(noon); len(p.Mails) != 1 || p.Mails[0].Kind != crash.MailNotice {
		t.Errorf("daily: got %v, want the alert at once", p.Mails)
	}
	if p := w.Plan(noon.Add(18 * time.Hour)); len(p.Mails) != 2 || p.Mails[0].Kind != crash.MailDigest {
		t.Errorf("at the hour: got %v, want a digest", p.Mails)
	}
	s.Mode = crash.MailOff
	if p := work(s, crash.EventNew, crash.EventRefused).Plan(noon); len(p.None) != 2 || len(p.Mails) != 0 {
		t.Errorf("off: got %+v, want no mail", p)
	}
}

func term(field crash.TermField, value string) crash.Condition {
	return crash.Condition{Terms: []crash.Term{{Field: field, Value: value}}}
}

func TestConditionHolds(t *testing.T) {
	t.Parallel()
	id := crash.NewOopsID(time.Now())
	s := crash.Summary{
		Package: "tidewatch", Version: "1.4.9-2", Executable: "/usr/bin/tidewatch", Architecture: "arm64",
		Release: "Ubuntu 24.04",
	}
	native, python := crashtest.Native().Fields(), crashtest.Python().Fields()
	tests := map[string]struct {
		condition crash.Condition
		fields    crash.Fields
		want      bool
	}{
		"chosen":            {crash.Condition{Reports: []crash.OopsID{id}}, nil, true},
		"another chosen":    {crash.Condition{Reports: []crash.OopsID{crash.NewOopsID(time.Now())}}, nil, false},
		"nothing":           {crash.Condition{}, nil, false},
		"package":           {term(crash.TermPackage, "tidewatch"), nil, true},
		"other package":     {term(crash.TermPackage, "tidewatch-dbg"), nil, false},
		"executable":        {term(crash.TermExecutable, "/usr/bin/tidewatch"), nil, true},
		"architecture":      {term(crash.TermArchitecture, "amd64"), nil, false},
		"release":           {term(crash.TermRelease, "Ubuntu 24.04"), nil, true},
		"same version":      {term(crash.TermFrom, "1.4.9-2"), nil, true},
		"by dpkg, not text": {term(crash.TermFrom, "1.4.10"), nil, false},
		"below":             {term(crash.TermBelow, "1.4.10"), nil, true},
		"not below itself":  {term(crash.TermBelow, "1.4.9-2"), nil, false},
		"frame":             {term(crash.TermFrame, "tide_load"), native, true},
		"part of a frame":   {term(crash.TermFrame, "tide_loa"), native, false},
		"frame of python":   {term(crash.TermFrame, grouping.Tracebacks(python)[0].Frames[0].Function), python, true},
		"all terms": {crash.Condition{Terms: []crash.Term{
			{Field: crash.TermRelease, Value: "Ubuntu 24.04"}, {Field: crash.TermArchitecture, Value: "amd64"},
		}}, nil, false},
	}
	for name, test := range tests {
		calls := func(function string) bool { return grouping.Calls(test.fields, function) }
		checktest.Equal(t, name, test.condition.Holds(id, s, calls), test.want)
	}
}

func TestConditionCheck(t *testing.T) {
	t.Parallel()
	id := crash.NewOopsID(time.Now())
	tests := map[string]struct {
		condition crash.Condition
		code      string // empty: no error
	}{
		"fine":    {term(crash.TermFrame, "tide_load"), ""},
		"chosen":  {crash.Condition{Reports: []crash.OopsID{id}}, ""},
		"nothing": {crash.Condition{}, "no_condition"},
		"both": {crash.Condition{Reports: []crash.OopsID{id}, Terms: term(crash.TermPackage, "a").Terms},
			"two_conditions"},
		"many":          {crash.Condition{Reports: make([]crash.OopsID, crash.MaxChosen+1)}, "too_many_reports"},
		"many terms":    {crash.Condition{Terms: make([]crash.Term, 9)}, "too_many_terms"},
		"no field":      {term("colour", "red"), "unknown_field"},
		"empty":         {term(crash.TermPackage, ""), "bad_value"},
		"two lines":     {term(crash.TermPackage, "a\nb"), "bad_value"},
		"long":          {term(crash.TermPackage, strings.Repeat("a", 501)), "bad_value"},
		"not a version": {term(crash.TermFrom, "newest"), "bad_version"},
	}
	for name, test := range tests {
		if code := codeOf(test.condition.Check()); code != test.code {
			t.Errorf("%s: got %q, want %q", name, code, test.code)
		}
	}
}

func TestConditionAsJSON(t *testing.T) {
	t.Parallel()
	for _, want := range []crash.Condition{
		{Reports: []crash.OopsID{crash.NewOopsID(time.Now()), crash.NewOopsID(time.Now())}},
		term(crash.TermFrom, "1:2.0~rc1-1"),
	} {
		b, err := json.Marshal(want)
		checktest.NoError(t, err)
		var got crash.Condition
		checktest.NoError(t, json.Unmarshal(b, &got))
		checktest.Diff(t, string(b), got, want)
	}
}

func TestSplitSignature(t *testing.T) {
	t.Parallel()
	checktest.Equal(t, "signature", crash.SplitSignature("/usr/bin/a:11:f:g", term(crash.TermArchitecture, "arm64"), 7),
		"/usr/bin/a:11:f:g [architecture arm64]")
	long := crash.SplitSignature(strings.Repeat("ü", crash.MaxSignature),
		crash.Condition{Reports: make([]crash.OopsID, 2)}, 7)
	if got := len([]rune(long)); got != crash.MaxSignature || !strings.HasSuffix(long, "ü [2 chosen reports, no. 7]") {
		t.Errorf("got %d code points that end in %q, want %d", got, long[len(long)-40:], crash.MaxSignature)
	}
}
