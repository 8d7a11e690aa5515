package triage

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views"
)

// readMute reads the conditions of a mute: those of the pressed button, else those of the fields.
func readMute(form url.Values, now time.Time) (u crash.MuteUntil, err error) {
	today := crash.Midnight(now)
	switch form.Get("preset") {
	case views.PresetWeek:
		return crash.MuteUntil{Date: today.AddDate(0, 0, 7)}, nil
	case views.PresetMonth:
		return crash.MuteUntil{Date: today.AddDate(0, 1, 0)}, nil
	case views.PresetNewer:
		return crash.MuteUntil{Newer: true}, nil
	case views.PresetRegression:
		return crash.MuteUntil{Regression: true}, nil
	case views.PresetForever:
		return crash.MuteUntil{}, nil
	}
	v := typed(form)
	if v.Date != "" {
		if u.Date, err = time.Parse(time.DateOnly, v.Date); err != nil {
			return u, crash.Errorf(crash.Invalid, "bad_date", "%s", "“"+crash.Shorten(v.Date, 40)+"” is not a day like "+
				"2026-12-01.")
		}
	}
	var days int64
	for _, field := range []struct {
		label, value string
		target       *int64
	}{{"More reports", v.Reports, &u.Reports}, {"Machines that report it", v.Machines, &u.Machines},
		{"Within how many days", v.Days, &days}} {
		if field.value == "" {
			continue
		}
		if *field.target, err = strconv.ParseInt(field.value, 10, 32); err != nil {
			return u, crash.Errorf(crash.Invalid, "bad_number", "%s", field.label+": “"+crash.Shorten(field.value, 40)+
				"” is not a number.")
		}
	}
	u.Days, u.Version, u.Release = int(days), v.Version, crash.Release(v.Release)
	u.Newer, u.Regression = v.Newer, v.Regression
	if u == (crash.MuteUntil{}) {
		return u, crash.Errorf(crash.Invalid, "no_condition", "%s",
			"Enter at least one condition, or choose one of the buttons.")
	}
	return u, nil
}

// typed returns the fields of the form as typed.
func typed(form url.Values) views.TriageValues {
	get := func(name string) string { return crash.Truncate(strings.TrimSpace(form.Get(name)), crash.MaxReason+1) }
	v := views.TriageValues{
		Reason: get("reason"), Date: get("date"), Reports: get("reports"), Machines: get("machines"), Days: get("days"),
		Version: get("version"), Release: get("release"), Newer: get("newer") != "", Regression: get("regression") != "",
	}
	for _, f := range readFixes(form) {
		v.Fixes = append(v.Fixes, views.FixRow{FixedIn: f})
	}
	return v
}

// readFixes reads the versions with the fix. It ignores releases without a version.
func readFixes(form url.Values) []crash.FixedIn {
	releases, versions := form["fix-release"], form["fix-version"]
	var fixes []crash.FixedIn
	for i, version := range versions {
		if version = strings.TrimSpace(version); version != "" && i < len(releases) {
			fixes = append(fixes, crash.FixedIn{Release: crash.Release(releases[i]), Version: version})
		}
	}
	return fixes
}
