package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/cmd/mishap/config"
	"mishap/cmd/mishap/traces"
	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/crash/privacy"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/worker"
	"mishap/db"
	"mishap/db/archive"
	"mishap/db/bugs"
	"mishap/db/doors"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/db/problems"
	dbsymbols "mishap/db/symbols"
	"mishap/db/upkeep"
	"mishap/handlers"
	"mishap/handlers/ingest"
	problempages "mishap/handlers/problems"
	"mishap/handlers/web"
	"mishap/notify/mail"
	notifyrules "mishap/notify/rules"
	"mishap/notify/webhook"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	"mishap/tracker/watch"
)

// Time-outs of the steps of a graceful stop.
const (
	requestsTimeout = 30 * time.Second // for requests in progress
	trackerTimeout  = 20 * time.Second // for calls to the tracker, whose outcome a later search settles
	jobsTimeout     = 10 * time.Second
	saveTimeout     = 20 * time.Second // for the snapshot of the problems
)

// instance holds everything that runs in one process: the servers behind the listeners, and
// background work.
type instance struct {
	config    config.Config
	listeners *listeners
	store     *db.Store
	log       *slog.Logger
	queueLog  *slog.Logger // of the job queue
	outage    outage       // of the database, in these logs
	metrics   *prometheus.Registry
	traces    *traces.Traces // nil: off
	disk      *db.DiskWatch
	cores     *cores.Store
	doors     *doors.Store
	now       func() time.Time

	server                 *handlers.Server // nil: this kind of instance has no pages
	web, ingest, ops       *http.Server     // nil: not served by this kind of instance
	onWeb, onIngest, onOps *replaceable     // handlers of these servers
	listening              sync.Once
	serving                sync.WaitGroup // for the servers that listen
	failed                 chan error     // the error of a server
	filer                  *tracker.Filer
	bugReader              *watch.BugReader
	problems               *problems.Store
	archiveReader          *watch.ArchiveReader // nil: the archive is not read
	deliveries             *webhook.Worker
	rules                  *events.Evaluator
	jobs                   *db.Jobs
	mailer                 *mail.Mailer
	symbols                *worker.Worker // nil: this instance does not symbolise
	// connection returns the state of the connection to the tracker; nil: this instance files no bugs.
	connection func(context.Context) (crash.Connection, error)
	background *background

	webInstances, ingestInstances atomic.Int64 // alive; they share limits of requests
}

// newInstance returns an instance whose servers answer that it is starting.
func newInstance(ctx context.Context, c config.Config, l *listeners, log *slog.Logger) (*instance, error) {
	i := &instance{config: c, listeners: l, metrics: newMetrics(), now: time.Now, failed: make(chan error, 3)}
	var err error
	if i.traces, err = traces.Start(ctx, traces.Config{Address: c.TracesAddress(), Ratio: c.TracesRatio,
		Version: versionText(), Log: log, Registerer: i.metrics}); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	plain := i.traces.Logger(log)
	log = i.outage.logger(plain)
	i.log, i.queueLog = log, i.outage.queueLogger(plain)
	if l.web != nil {
		i.onWeb = newReplaceable(http.HandlerFunc(startingPages))
		i.web = webServer(i.onWeb, log)
	}
	if l.ingest != nil {
		i.onIngest = newReplaceable(http.HandlerFunc(startingIngest))
		i.ingest = ingest.NewServer(closing(i.onIngest))
	}
	i.background = newBackground(log, i.metrics, i.traces)
	i.onOps = newReplaceable(opsHandler(i.metrics, startingHealth, nil))
	i.ops = opsServer(i.onOps, log)
	return i, nil
}

// build creates the parts that this kind of instance needs, and replaces the handlers of its
// servers. It does not start background work.
func (i *instance) build() error {
	i.doors = doors.New(i.store)
	if i.listeners.web != nil {
		if err := i.buildWeb(); err != nil {
			return err
		}
	}
	if i.listeners.ingest != nil {
		handler, err := ingest.New(ingest.Deps{
			Intake:         intake.New(intakeConfig(i.config), i.store),
			Store:          dbsymbols.New(i.store),
			Bugs:           bugs.New(i.store),
			Doors:          i.doors,
			BaseURL:        i.config.BaseURL,
			Cores:          i.cores,
			WantCores:      i.config.Cores == "wanted",
			CorePackages:   i.config.CorePatterns(),
			MaxBytes:       int64(i.config.IngestMaxBytes),
			MaxCoreBytes:   int64(i.config.CoreMaxBytes),
			MaxCoresBytes:  int64(i.config.CoresTotalMaxBytes),
			Disk:           i.disk,
			RatePerSystem:  i.config.IngestRatePerSystem,
			RatePerAddress: i.config.IngestRatePerAddress,
			Instances:      func() int { return int(i.ingestInstances.Load()) },
			TrustedProxies: i.config.ProxyNetworks(),
			Log:            i.log,
			Now:            i.now,
			Registerer:     i.metrics,
			Tracer:         i.traces.Tracer(),
		})
		if err != nil {
			return err
		}
		i.onIngest.replace(handler)
	}
	if err := i.metrics.Register(i.disk); err != nil {
		return fmt.Errorf("register metrics of disks: %w", err)
	}
	site := upkeep.NewVitals(i.store, i.connection, i.config.SMTPURL != "")
	if err := i.metrics.Register(upkeep.NewMetrics(site, i.health)); err != nil {
		return fmt.Errorf("register metrics of the site: %w", err)
	}
	i.onOps.replace(opsHandler(i.metrics, i.health, site.Checks))
	return nil
}

// health runs the health checks for this kind of instance.
func (i *instance) health(ctx context.Context) []crash.HealthCheck {
	return append(i.store.Health(ctx), i.disk.Health()...)
}

// buildSymbols creates the worker that symbolises cores and names addresses.
func (i *instance) buildSymbols() error {
	s, err := symboliser(i.config, i.traces.Transport("debuginfod"))
	if err != nil {
		return err
	}
	store := dbsymbols.New(i.store)
	known := dbsymbols.NewBuilds(i.store)
	s.Builds, s.Names = known, store
	i.symbols, err = worker.New(worker.Deps{Store: store, Builds: known, Cores: i.cores,
		Symboliser: s, Version: versionText(), Renew: dbsymbols.RenewInterval,
		Wanted: i.config.Cores == "wanted", Log: i.log, Registerer: i.metrics})
	if err != nil {
		return fmt.Errorf("register metrics of symbols: %w", err)
	}
	return nil
}

func (i *instance) buildWeb() error {
	settings := trackerConfig(i.config, i.log, i.metrics)
	settings.Tracer, settings.Transport = i.traces.Tracer(), i.traces.Transport("tracker")
	bugs := bugs.New(i.store)
	i.problems = problems.New(i.store)
	credentials := tracker.NewCredentials(settings, bugs)
	sites := trackers(i.config, settings, credentials, bugs)
	var client *launchpad.Client
	if i.config.HasLaunchpad() {
		client = launchpad.New(settings, credentials)
	} else if first, ok := sites.First(false); ok {
		credentials = first.Creds
	}
	if i.config.AllowBugFiling {
		i.connection = credentials.Status
	}
	i.filer = tracker.NewFiler(settings, bugs, sites)
	i.bugReader = watch.NewBugReader(settings, bugs, sites, watch.BugOptions{Silent: !i.config.AllowBugFiling})
	if i.config.ReadArchive && client != nil {
		i.archiveReader = watch.NewArchiveReader(settings, bugs, client, watch.ArchiveOptions{})
	}
	stored := events.New(i.store)
	sender := webhook.NewClient(webhook.Config{Allow: i.config.WebhookNetworks(), BaseURL: i.config.BaseURL,
		Version: version, Now: i.now, Transport: i.traces.Transport("webhook")})
	var err error
	if i.deliveries, err = webhook.NewWorker(stored, sender, i.log, i.metrics); err != nil {
		return err
	}
	relay, err := i.config.Relay()
	if err != nil {
		return err
	}
	i.mailer, err = mail.New(mail.Config{Relay: relay, From: i.config.MailFrom, BaseURL: i.config.BaseURL, Log: i.log,
		Now: i.now, Registerer: i.metrics, Tracer: i.traces.Tracer()}, stored)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	i.rules = events.NewEvaluator(stored, i.ruleOptions())
	jobs, err := db.NewJobs(i.store, db.JobsConfig{
		Log: i.queueLog, File: i.filer.Work, Tasks: i.background.jobs(i.sharedTasks()), Tracer: i.traces.Tracer(),
		Twins: i.problems.MergeTwins,
	})
	if err != nil {
		return fmt.Errorf("job queue: %w", err)
	}
	i.jobs = jobs
	i.server, err = handlers.New(handlers.Deps{Deps: web.Deps{
		Store:       i.store,
		People:      people.New(i.store),
		Bugs:        bugs,
		Doors:       i.doors,
		Problems:    i.problems,
		Events:      stored,
		Symbols:     dbsymbols.New(i.store),
		Filer:       i.filer,
		Tracker:     client,
		Credentials: credentials,
		Config: web.Config{
			BaseURL:        i.config.BaseURL,
			IngestURL:      i.ingestURL(),
			AllowBugFiling: i.config.AllowBugFiling,
			TrustedProxies: i.config.ProxyNetworks(),
			OpenID:         i.config.OpenID(),
			OIDC:           i.config.OIDC(),
			Proxy: web.ProxyConfig{Header: i.config.ProxyAuthHeader, GroupsHeader: i.config.ProxyAuthGroups,
				Peers: i.config.ProxyAuthNetworks()},
			RequireApp:  crash.AppPolicy(i.config.RequireTOTP),
			LocalSignIn: crash.LocalSignIn(i.config.LocalSignIn),
			Privacy:     i.config.Privacy(),
			Retention: web.Retention{CoresDays: i.config.CoresKeepDays, Periods: privacy.Periods{
				PrivateDays: i.config.PrivateKeepDays, Reports: i.config.ReportsKeep(),
				CountsYears: i.config.CountsKeepYears, AuditDays: i.config.AuditKeepDays}},
			SourceLinks:           linkTemplates(i.config.SourceLinks),
			VersionLinks:          linkTemplates(i.config.VersionLinks),
			Cores:                 i.cores,
			AskForCores:           i.config.Cores == "wanted",
			CorePackages:          i.config.CorePatterns(),
			Version:               version,
			APIRatePerAddress:     i.config.APIRatePerAddress,
			APIRatePerToken:       i.config.APIRatePerToken,
			ExportRatePerAddress:  i.config.ExportRatePerAddress,
			Instances:             func() int { return int(i.webInstances.Load()) },
			TrackerName:           i.config.TrackerName(),
			ConfigFile:            i.config.File,
			TokensFromEnvironment: i.config.SetByVariable("tracker_oauth_token") != "",
		},
		Log:        i.log,
		Now:        i.now,
		Registerer: i.metrics,
		Tracer:     i.traces.Tracer(),
	},
		Decisions: db.NewDecisions(i.store),
		Mailer:    i.mailer,
		Sender:    sender,
		Health:    i.health,
		WriteTokens: func(_ context.Context, token crash.AccessToken) error {
			return config.WriteTokens(i.config.File, crash.Secret(token.Token), token.Secret)
		},
	})
	if err != nil {
		return err
	}
	i.onWeb.replace(i.server.Handler())
	return nil
}

// linkTemplates parses templates that the configuration has checked.
func linkTemplates(text string) grouping.LinkTemplates {
	links, _ := grouping.ParseLinkTemplates(text)
	return links
}

// ingestURL returns the address for reports that pages show: this process's listener, or the
// configured address of another process.
func (i *instance) ingestURL() string {
	if i.listeners.ingest != nil {
		return config.LocalURL(i.listeners.ingest.Addr().String())
	}
	return config.LocalURL(i.config.IngestListen)
}

// run serves until ctx ends or a server fails. Then it closes the listeners and finishes work in
// progress. It calls ready when everything runs.
func (i *instance) run(ctx context.Context, ready func()) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	if i.web != nil {
		if err := i.jobs.Start(background); err != nil {
			return fmt.Errorf("job queue: %w", err)
		}
		i.background.loops.Go(func() { i.loadProblems(background) })
	}
	i.background.start(background, i.ownTasks())
	i.listen()
	ready()
	var err error
	select {
	case <-ctx.Done():
	case err = <-i.failed:
	}
	i.log.InfoContext(ctx, "stopping: finishing work in progress; another signal stops at once")
	if err == nil {
		err = i.leaveProxies()
	}
	i.drain(background)
	stopBackground()
	i.background.wait()
	i.stopSymbols(context.WithoutCancel(ctx))
	i.stopDoors(context.WithoutCancel(ctx))
	i.stopServers()
	i.saveProblems(context.WithoutCancel(ctx))
	i.log.InfoContext(ctx, "stopped")
	return err
}

// leaveProxies says that the instance is not ready, and serves until proxies have noticed.
func (i *instance) leaveProxies() error {
	for _, h := range []*replaceable{i.onWeb, i.onOps} {
		if h != nil {
			h.replace(notReady(*h.now.Load()))
		}
	}
	select {
	case <-time.After(i.config.Drain()):
		return nil
	case err := <-i.failed:
		return err
	}
}

// stopSymbols tells other instances that this one symbolises no longer, so that machines are not asked
// for cores in vain.
func (i *instance) stopSymbols(ctx context.Context) {
	if i.symbols == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, jobsTimeout)
	defer cancel()
	if err := i.symbols.Stop(ctx); err != nil {
		i.log.WarnContext(ctx, "cannot tell other instances that this one symbolises no longer", "error", err)
	}
}

// stopDoors writes the last counts.
func (i *instance) stopDoors(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, jobsTimeout)
	defer cancel()
	if err := i.doors.Flush(ctx); err != nil {
		i.log.WarnContext(ctx, "the page of doors misses the last counts", "error", err)
	}
}

// listen starts the servers, once.
func (i *instance) listen() {
	i.listening.Do(func() {
		i.each(func(s *http.Server, l net.Listener) {
			i.serving.Go(func() {
				if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
					i.failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
				}
			})
		})
	})
}

// stopServers closes the servers at once, if they run, and waits until they have ended. It may be
// called more than once.
func (i *instance) stopServers() {
	i.each(func(s *http.Server, _ net.Listener) { _ = s.Close() }) // the server stops in any case
	i.serving.Wait()
}

// loadProblems fills the cache of lists before the first visitor needs it.
func (i *instance) loadProblems(ctx context.Context) {
	began := time.Now()
	b, err := i.store.IndexWithStates(ctx)
	if err != nil {
		i.log.WarnContext(ctx, "cannot load the problems; the first list will retry", "error", err)
		return
	}
	i.log.InfoContext(ctx, "loaded the problems", "problems", b.Len(), "seconds", time.Since(began).Seconds())
}

// saveProblems writes the file with which the next start is quick.
func (i *instance) saveProblems(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := i.store.SaveIndex(ctx, true); err != nil {
		i.log.WarnContext(ctx, "the next start will take longer", "error", err)
	}
}

// each calls do for every server of this instance.
func (i *instance) each(do func(*http.Server, net.Listener)) {
	if i.web != nil {
		do(i.web, i.listeners.web)
	}
	if i.ingest != nil {
		do(i.ingest, i.listeners.ingest)
	}
	do(i.ops, i.listeners.ops)
}

// drain closes the listeners and waits for requests, then for calls to the tracker, then for jobs,
// each up to its time-out.
func (i *instance) drain(ctx context.Context) {
	var drained sync.WaitGroup
	i.each(func(s *http.Server, l net.Listener) {
		if s == i.ops {
			return // metrics stay readable until the end
		}
		drained.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, requestsTimeout)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				i.log.WarnContext(ctx, "requests did not finish in time", "address", l.Addr().String(), "error", err)
				_ = s.Close()
			}
		})
	})
	drained.Wait()
	if i.filer == nil {
		return
	}
	ctx1, cancel := context.WithTimeout(ctx, trackerTimeout)
	defer cancel()
	i.filer.Close(ctx1)
	ctx2, cancel := context.WithTimeout(ctx, jobsTimeout)
	defer cancel()
	i.deliveries.Close(ctx2)
	if err := i.jobs.Stop(ctx2); err != nil {
		i.log.WarnContext(ctx, "jobs did not finish in time", "error", err)
	}
}

// task is work that runs when an instance starts, and then at an interval. sharedTasks and ownTasks list all
// background work, with two exceptions: filing, splitting and regrouping are jobs that a click queues
// (db/jobs.go), and db.Store itself stores and counts reports: the answer to a machine waits for that, and a
// queue would add up to a second.
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
		"finish-decisions", "continues splits and regrouping runs whose instance died, or that waited for an archive",
		time.Minute, func(ctx context.Context) error {
			return db.NewDecisions(i.store).FinishDecisions(ctx, grouping.CurrentRules())
		},
	}, {
		"erase-machines", "erases the machines that people asked to erase",
		5 * time.Second, func(ctx context.Context) error {
			return db.UnlessAway(upkeep.NewErasing(i.store).Continue(ctx, i.cores))
		},
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
			"are older than counts_keep_years, and counts by hour",
		6 * time.Hour, func(ctx context.Context) error {
			return errors.Join(i.store.DropOldReports(ctx, i.config.ReportsKeep()), i.store.DropOldHours(ctx),
				upkeep.NewRetention(i.store, i.config.Privacy()).DropOldCounts(ctx, i.config.CountsKeepYears))
		},
	}, {
		"archive-reports", "moves months of reports that are older than archive_after_months to an archive, and finishes " +
			"such moves",
		6 * time.Hour, func(ctx context.Context) error {
			var before time.Time
			if months := i.config.ArchiveAfterMonths; months > 0 {
				before = i.now().UTC().AddDate(0, -months, 0)
			}
			return errors.Join(i.store.PlanNextMonth(ctx, db.LargeMonth), archive.New(i.store).MoveOld(ctx, before))
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
		"count-instances", "counts the instances that are alive, because they share the limits of requests",
		5 * time.Second, func(ctx context.Context) error {
			n, err := i.store.CountInstances(ctx)
			if err == nil { // else they keep their shares
				i.webInstances.Store(int64(n.Web))
				i.ingestInstances.Store(int64(n.Ingest))
			}
			return err
		},
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
	if i.web != nil {
		// This is not a job: each data_dir has its own copy of the file.
		tasks = append(tasks, task{
			"save-problems", "writes the file with which this instance starts quickly", 5 * time.Minute,
			func(ctx context.Context) error { return i.store.SaveIndex(ctx, false) },
		})
	}
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
	if i.ingest != nil {
		// This is not a job: each instance has counts and a cache of its own.
		tasks = append(tasks, task{
			"doors", "writes counts of what came through the doors, and learns about new and revoked keys",
			doors.RefreshInterval, i.doors.Work,
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
	return worker.Clean(ctx, dbsymbols.New(i.store), i.cores, before, int64(i.config.CoresTotalMaxBytes), i.log)
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

// ruleOptions returns what rules can do in this instance. It needs the filer.
func (i *instance) ruleOptions() events.EvaluatorOptions {
	o := events.EvaluatorOptions{
		Actions: &ruleActions{problems: i.problems, now: i.now}, Facts: i.problems,
		HourlyLimit: i.config.RuleFilingsPerHour, Log: i.log,
		Searches: problempages.NewSearches(bugs.New(i.store), i.now),
	}
	if i.config.AllowBugFiling {
		o.File = func(ctx context.Context, signature, rule string) error {
			_, err := i.filer.CreateBug(ctx, signature, tracker.Options{Person: rule})
			return err
		}
	}
	return o
}

// ruleActions lets rules change problems. It implements [events.Actions].
type ruleActions struct {
	problems *problems.Store
	now      func() time.Time
}

// Mute mutes a problem. It does nothing if the problem is muted already.
func (a *ruleActions) Mute(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, until notifyrules.Mute, name string,
) error {
	m := crash.Mark{Bucket: bucket, Kind: crash.MarkMuted, Person: name,
		Until: crash.MuteUntil{Newer: until.Newer, Regression: until.Regression}}
	if until.Days > 0 {
		m.Until.Date = a.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, until.Days)
	}
	_, err := a.problems.SetIn(ctx, tx, m)
	return unlessConflict(err)
}

// Assign assigns a problem. It does nothing if the bug of the problem has an assignee.
func (a *ruleActions) Assign(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, to, rule string) error {
	return unlessConflict(a.problems.AssignIn(ctx, tx, crash.Assignment{Bucket: bucket, Assignee: to, By: rule}))
}

// Tag adds a tag to a problem.
func (a *ruleActions) Tag(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, rule string) error {
	return a.problems.TagIn(ctx, tx, bucket, tag, rule)
}

// Embargo embargoes a problem: always, or only if its representative report suggests corrupted
// memory. It does nothing if the problem is embargoed already.
func (a *ruleActions) Embargo(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, when notifyrules.Embargo,
	rule notifyrules.Rule,
) error {
	e := crash.Mark{Bucket: bucket, Kind: crash.MarkEmbargo, Person: "rule: " + rule.Name, Rule: rule.ID}
	if when == notifyrules.EmbargoSuspected {
		report, err := a.problems.RepresentativeReport(ctx, bucket)
		if crash.KindOf(err) == crash.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Reason = grouping.SuspectedCorruption(report.Fields); e.Reason == "" {
			return nil
		}
	}
	_, err := a.problems.SetIn(ctx, tx, e)
	return err
}

// Merge has a job merge a problem with its twins.
func (a *ruleActions) Merge(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, rule string) error {
	return a.problems.AddTwinsJob(ctx, tx, bucket, rule)
}

// unlessConflict returns nil for an error of kind Conflict, else err.
func unlessConflict(err error) error {
	if crash.KindOf(err) == crash.Conflict {
		return nil
	}
	return err
}
