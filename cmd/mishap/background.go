package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/cmd/mishap/traces"
	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/grouping"
	"mishap/crash/symbols/worker"
	"mishap/db"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/db/symbols"
	"mishap/db/upkeep"
)

// This file lists all background work, with two exceptions. Filing, splitting and regrouping are
// jobs that a click queues (db/jobs.go). db.Store itself stores and
// counts reports: the answer to a machine waits for that, and a queue would add up to a second.

// task is work that runs when an instance starts, and then at an interval.
type task struct {
	name    string
	purpose string
	every   time.Duration
	run     func(context.Context) error
}

// sharedTasks returns the tasks of all instances together. River runs each in one of the web
// instances.
func (i *instance) sharedTasks() []task {
	tasks := []task{{
		"read-bugs", "reads bugs from the tracker that are new, changed, viewed or stale",
		10 * time.Second, i.bugReader.Round,
	}, {
		"end-mutes", "shows muted problems again whose condition is met",
		30 * time.Second, i.problems.EndMutes,
	}, {
		"finish-decisions", "continues splits and regrouping runs whose instance died",
		time.Minute, func(ctx context.Context) error {
			return db.NewDecisions(i.store).FinishDecisions(ctx, grouping.CurrentRules())
		},
	}, {
		"erase-machines", "erases the machines that people asked to erase",
		5 * time.Second, func(ctx context.Context) error { return upkeep.NewErasing(i.store).Continue(ctx, i.cores) },
	}, {
		"remove-expired", "removes ended sessions, old failed sign-ins and old rows of changes",
		10 * time.Minute, people.NewSessions(i.store).DeleteExpired,
	}, {
		"refresh-groups", "asks the OpenID Connect provider for the present groups of people, by their refresh tokens",
		time.Hour, func(ctx context.Context) error { return i.server.RefreshGroups(ctx) },
	}, {
		"warn-of-expiry", "tells the owners of API tokens, or their teams, that they expire within a week",
		10 * time.Minute, people.New(i.store).WarnOfTokenExpiry,
	}, {
		"drop-old-reports", "drops reports that are older than reports_keep_days or reports_keep_types, and counts that " +
			"are older than counts_keep_years",
		6 * time.Hour, func(ctx context.Context) error {
			return errors.Join(i.store.DropOldReports(ctx, i.config.ReportsKeep()),
				upkeep.NewRetention(i.store, i.config.Privacy()).DropOldCounts(ctx, i.config.CountsKeepYears))
		},
	}, {
		"expire-fields", "begins to remove private fields that are older than private_keep_days",
		time.Hour, func(ctx context.Context) error {
			return upkeep.NewRetention(i.store, i.config.Privacy()).StartExpiring(ctx, i.config.PrivateKeepDays)
		},
	}, {
		"examine-fields", "works on a run that checks or removes fields of stored reports",
		10 * time.Second, upkeep.NewRetention(i.store, i.config.Privacy()).Continue,
	}, {
		"decide-quality", "decides how much reports of earlier versions of mishap say about their crashes",
		time.Hour, i.store.DecideQuality,
	}, {
		"drop-old-audit", "drops records of the audit log that are older than audit_keep_days",
		6 * time.Hour, func(ctx context.Context) error {
			return upkeep.NewAuditLog(i.store).Drop(ctx, i.config.AuditKeepDays)
		},
	}, {
		"send-mail", "decides which notices become mails, and sends those that are due", 5 * time.Second, i.mailer.Round,
	}, {
		"evaluate-rules", "finds what rules watch for in new counts, and acts on it",
		30 * time.Second, i.rules.Round,
	}, {
		"remove-deliveries", "removes finished deliveries to endpoints after 30 days",
		time.Hour, events.New(i.store).DeleteOldDeliveries,
	}, {
		"remove-notices", "removes notices, mails and events of rules after 400 days",
		6 * time.Hour, events.New(i.store).DeleteOld,
	}}
	if i.archiveReader != nil {
		tasks = append(tasks, task{
			"read-archive", "asks the tracker about packages and people that pages show",
			5 * time.Second, i.archiveReader.Round,
		})
	}
	return tasks
}

// ownTasks returns the tasks that each instance runs in a loop of its own.
func (i *instance) ownTasks() []task {
	machine := &machineProblems{log: i.log, now: map[string]string{}}
	// Saving erasures is not a job: each data_dir has its own copy of the file.
	tasks := []task{{
		"save-erasures", "writes the record of erasures that restoring a backup needs",
		time.Minute, (&erasuresFile{instance: i}).save,
	}, {
		"log-outage", "logs that the database works again after an outage",
		time.Second, func(ctx context.Context) error {
			i.outage.check(ctx, i.log, i.now(), i.store.Pool.Ping)
			return nil
		},
	}, {
		"log-problems", "logs once when a disk is full or a clock wrong, and its end",
		30 * time.Second, func(ctx context.Context) error {
			checks := i.disk.Health()
			if v, err := upkeep.NewVitals(i.store, nil, false).Read(ctx); err == nil { // other tasks report errors
				checks = append(checks, slices.DeleteFunc(upkeep.Judge(v),
					func(c crash.HealthCheck) bool { return c.ID != "clock" })...)
			}
			machine.update(ctx, checks)
			return nil
		},
	}}
	if i.filer != nil {
		// This is not a job: it must find filings of a dead instance while River has no leader, for up to
		// 15 s.
		tasks = append(tasks, task{
			"start-due-filings", "starts filings that no job has started, and settles those of dead instances",
			2 * time.Second, i.filer.StartDue,
		})
	}
	if i.deliveries != nil {
		// This is not a job: it must find deliveries of a dead instance while River has no leader, and an
		// endpoint that does not answer must not occupy a worker of the queue.
		tasks = append(tasks, task{
			"deliver", "sends events to webhooks and chats", 2 * time.Second, i.deliveries.Round,
		})
	}
	if i.symbols != nil {
		// This is not a job: one can take minutes, and the files are in the data_dir of this instance.
		tasks = append(tasks, task{
			"symbolise", "symbolises core dumps that have arrived", 2 * time.Second, i.symbols.Round,
		}, task{
			"name-addresses", "names native crashes without core dumps", 2 * time.Second, i.symbols.NameAddresses,
		})
	}
	if i.ingest != nil || i.symbols != nil {
		// This is not a job: the files are in the data_dir of this instance.
		tasks = append(tasks, task{
			"remove-cores", "removes core dumps that are too old, too many or not needed", 10 * time.Minute, i.removeCores,
		})
	}
	return tasks
}

// erasuresFile is the record of erasures in the data_dir of an instance.
type erasuresFile struct {
	instance *instance
	state    string // of the erasures when the file was written last
}

func (f *erasuresFile) save(ctx context.Context) error {
	store := upkeep.NewErasing(f.instance.store)
	state, err := store.State(ctx)
	if err != nil || state == f.state {
		return err
	}
	if err := store.WriteFile(ctx, f.instance.config.DataDir); err != nil {
		return err
	}
	f.state = state
	return nil
}

// removeCores removes old core dumps from this instance's data_dir.
func (i *instance) removeCores(ctx context.Context) error {
	var before time.Time
	if i.config.CoresKeepDays > 0 {
		before = i.now().AddDate(0, 0, -i.config.CoresKeepDays)
	}
	return worker.Clean(ctx, symbols.New(i.store), i.cores, before, int64(i.config.CoresTotalMaxBytes), i.log)
}

// background runs tasks and exports metrics about them.
type background struct {
	log      *slog.Logger
	interval *prometheus.GaugeVec
	lastRun  *prometheus.GaugeVec
	failures *prometheus.CounterVec
	traces   *traces.Traces
	loops    sync.WaitGroup
}

func newBackground(log *slog.Logger, metrics prometheus.Registerer, t *traces.Traces) *background {
	b := &background{
		log: log, traces: t,
		interval: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mishap_task_interval_seconds",
			Help: "Interval of each background task of this instance, with its purpose.",
		}, []string{"task", "purpose"}),
		lastRun: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mishap_task_last_run_timestamp_seconds",
			Help: "End of the last run of a background task in this instance; 0: none yet.",
		}, []string{"task"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_task_failures_total", Help: "Runs of background tasks in this instance that failed.",
		}, []string{"task"}),
	}
	metrics.MustRegister(b.interval, b.lastRun, b.failures)
	return b
}

// observed returns a function that runs a task once. It logs, counts and returns failures and
// panics. It ignores errors after the end of ctx.
func (b *background) observed(t task) func(context.Context) error {
	b.interval.WithLabelValues(t.name, t.purpose).Set(t.every.Seconds())
	lastRun, failures := b.lastRun.WithLabelValues(t.name), b.failures.WithLabelValues(t.name)
	return b.traces.Task(t.name, func(ctx context.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			lastRun.SetToCurrentTime()
			if ctx.Err() != nil {
				err = nil
			}
			if err != nil {
				failures.Inc()
				b.log.WarnContext(ctx, "a background task failed and will run again",
					"task", t.name, "in", t.every.String(), "error", err)
			}
		}()
		return t.run(audit.WithActor(ctx, &audit.Actor{Kind: audit.Job, Via: t.name}))
	})
}

// jobs returns the tasks as River runs them.
func (b *background) jobs(tasks []task) []db.Task {
	var out []db.Task
	for _, t := range tasks {
		out = append(out, db.Task{Name: t.name, Every: t.every, Run: b.observed(t)})
	}
	return out
}

// start runs each task in a loop of its own until ctx ends. wait returns when all loops have ended.
func (b *background) start(ctx context.Context, tasks []task) {
	for _, t := range tasks {
		run := b.observed(t)
		b.loops.Go(func() {
			tick := time.NewTicker(t.every)
			defer tick.Stop()
			for ctx.Err() == nil { // select may choose tick.C although ctx has ended
				_ = run(ctx) // logged
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
}

func (b *background) wait() { b.loops.Wait() }
