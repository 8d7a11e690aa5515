package gallery

import (
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	problemsview "mishap/views/problems"
)

// health returns the reports of an update by hour: five weeks before it and eleven days of it, with a spike of its
// third day if there is one.
func health(version string, spike int64) problemsview.Health {
	since := crash.Midnight(now).AddDate(0, 0, -stats.SpikeDays-10)
	h := stats.Health{Release: releases[1], Version: version, First: version != "", Known: since,
		Since: since.AddDate(0, 0, stats.SpikeDays), Until: crash.Midnight(now), Hours: stats.Hours{Since: since}}
	if version != "" {
		h.Package = "tidewatch"
	}
	over := int(now.Sub(since) / time.Hour)
	for i := range (stats.SpikeDays + 11) * 24 {
		n := int64(6+(i%24)/2) - int64(i/24%7)/2 + int64(i*7919%5)
		if i == (stats.SpikeDays+2)*24+14 {
			n += spike
		}
		if i >= over {
			n = 0
		}
		own := int64(0)
		if day := i/24 - stats.SpikeDays; day >= 0 && version != "" {
			own = min(n, n*int64(day+1)/8)
		}
		h.Hours.Reports, h.Own = append(h.Hours.Reports, n), append(h.Own, own)
	}
	h.Spikes = stats.FindSpikes(h.Hours, h.Known, h.Since, now.Truncate(time.Hour))
	return problemsview.Health{Health: h, ID: "hours", Now: now}
}

// young returns the same without a history.
func young() problemsview.Health {
	h := health("", 0)
	h.Spikes = stats.FindSpikes(h.Hours, h.Since, h.Since, now.Truncate(time.Hour))
	return h
}

// numbers returns what is known of the numbers of machines.
func numbers(pings, installs, crashed int64) stats.MachineNumbers {
	until := crash.Midnight(now).AddDate(0, 0, -1)
	m := stats.MachineNumbers{Since: until.AddDate(0, 0, 1-stats.CrashFreeDays), Until: until,
		Pings: map[crash.Release]map[time.Time]int64{releases[1]: {}},
		Installs: map[stats.CrashedKey]stats.Installed{{Release: releases[1]}: {Day: until, Imported: now,
			Machines: installs, Source: "update server"}},
		Crashed: map[stats.CrashedKey]map[time.Time]int64{{Release: releases[1]}: {}}}
	for i := range stats.CrashFreeDays {
		day := m.Since.AddDate(0, 0, i)
		m.Pings[releases[1]][day] = pings + int64(i)*3
		m.Crashed[stats.CrashedKey{Release: releases[1]}][day] = crashed + int64(i)
	}
	return m
}

// healthOf returns the specimens of reports by hour and of machines without a crash.
func healthOf() []specimen {
	page := func(h problemsview.Health, free []stats.CrashFree) problemsview.ReleasePage {
		p := release(4000)
		p.Health, p.CrashFree = h, free
		p.Worst, p.New, p.Regressions, p.Packages = nil, nil, nil, nil
		return p
	}
	unknown := health("", 0)
	unknown.Known, unknown.Since = now.AddDate(0, 0, 1), now.AddDate(0, 0, 1)
	unknown.Until = crash.Midnight(now)
	return []specimen{
		{"Hours, spike, machines without a crash", problemsview.Release(page(health("", 60),
			numbers(4000, 1_200_000, 40).CrashFree(releases[1], "")))},
		{"Hours, no spike, weak numbers of machines", problemsview.Release(page(health("", 0),
			numbers(50, 90, 40).CrashFree(releases[1], "")))},
		{"Hours, too little history", problemsview.Release(page(young(), nil))},
		{"Hours, not known", problemsview.Release(page(unknown, nil))},
	}
}
