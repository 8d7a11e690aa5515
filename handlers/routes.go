package handlers

import (
	"compress/gzip"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"github.com/klauspost/compress/gzhttp"

	"mishap/assets"
	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/handlers/admin"
	"mishap/handlers/api"
	"mishap/handlers/export"
	"mishap/handlers/hooks"
	"mishap/handlers/mcp"
	"mishap/handlers/panel"
	"mishap/handlers/problems"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
	eventsview "mishap/views/events"
	"mishap/views/layout"
	peopleview "mishap/views/people"
	problemsview "mishap/views/problems"
)

// compressionLevel is the level for pages that are made for one request. It takes half the processor
// time of the default, which cached pages use, and makes pages a sixth larger.
const compressionLevel = gzip.BestSpeed

// Compression returns middleware that compresses answers by gzip, for answers made for one request.
func Compression() (func(http.Handler) http.HandlerFunc, error) {
	return gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(compressionLevel))
}

func (s *Server) routes() (http.Handler, error) {
	compress, err := Compression()
	if err != nil {
		return nil, err
	}
	do := s.web.Do
	of := func(show panel.ProblemHandler) http.HandlerFunc { return do(s.panel.OfProblem(show)) }
	root := chi.NewRouter()
	root.Use(s.web.Identify, func(h http.Handler) http.Handler { return compress(h) },
		s.web.Observe, s.web.RecordChanges, s.web.Recovered, web.Headers, chimw.GetHead)
	root.With(s.web.LimitProbes).Get("/healthz", do(admin.ShowHealth))
	root.With(s.web.LimitProbes).Get("/readyz", do(s.admin.ShowReady))
	root.With(s.web.LimitAssets).Method(http.MethodGet, assets.Prefix+"*",
		assets.Handler(s.web.Config.AssetsDir, web.AcceptsGzip))

	// Mail programs unsubscribe without cookies, so there is no session and no CSRF token.
	root.Group(func(links chi.Router) {
		links.Use(s.web.NoteAddress, web.Deadline(web.PageTime), s.web.LimitVisitors)
		links.Get(eventsview.PathUnsubscribe+"{token}", do(s.events.ShowUnsubscribe))
		links.Post(eventsview.PathUnsubscribe+"{token}", do(s.events.Unsubscribe))
	})

	root.With(s.web.NoteAddress, web.Deadline(web.PageTime), s.web.LimitVisitors).
		Post(hooks.PathTracker+"{name}", do(s.hooks.Receive))

	root.With(s.web.LimitAssets).Get(mcp.PathLLMs, do(s.mcp.ShowLLMs))
	root.Group(func(assistants chi.Router) {
		assistants.Use(s.web.NoteAddress, web.Deadline(web.PageTime), s.authenticateToken, s.limitRate, s.web.LimitVisitors)
		assistants.Post(mcp.Path, do(s.mcp.Serve))
		assistants.Get(mcp.Path, do(s.mcp.Serve)) // refused, as is DELETE: there are no sessions and streams
		assistants.Delete(mcp.Path, do(s.mcp.Serve))
	})

	site := chi.NewRouter()
	site.Use(s.web.NoteAddress, web.Deadline(web.PageTime),
		s.web.WithSession, s.web.Recognise, s.web.Guard, s.exportsByToken, chimw.GetHead)
	site.NotFound(s.web.LimitVisitors(do(s.notFound)).ServeHTTP)
	site.MethodNotAllowed(s.web.LimitVisitors(do(s.wrongMethod)).ServeHTTP)
	visited := site.With(s.web.LimitVisitors)
	root.Mount("/", site)
	root.Mount(strings.TrimSuffix(api.Prefix, "/"), s.apiRoutes())

	site.Group(func(public chi.Router) {
		visited.Get(web.PathSignIn, do(s.people.ShowSignIn))
		visited.Post(web.PathSignIn, do(s.people.SignIn))
		visited.Get(web.PathSignInCode, do(s.people.ShowCode))
		visited.Post(web.PathSignInCode, do(s.people.SignInByCode))
		visited.Post("/logout", do(s.people.SignOut))
		public.Post(web.PathOpenID, do(s.people.StartOpenID))
		public.Get(web.PathOpenID+web.PathSignInReturn, do(s.people.FinishOpenID))
		public.Post(web.PathOIDC, do(s.people.StartOIDC))
		public.Get(web.PathOIDC+web.PathSignInReturn, do(s.people.FinishOIDC))
		public.Get("/", do(s.web.CachePage(s.lists.ListQuery, s.lists.ListProblems)))
		visited.Get("/api", do(s.showAPI))
		visited.Get(layout.PathTheme, do(s.web.SetTheme))
		visited.Get(layout.PathColumns, do(s.web.SetColumns))
		public.Get("/problems.{format}", do(export.File(s.lists.ExportProblems)))
		public.Get("/package/{name}", do(s.web.CachePage(problems.CompareQuery, s.lists.ShowPackage)))
		public.Get(stats.GatePath, do(s.web.CachePage(problems.GateQuery, s.lists.ShowGate)))
		public.Get(crash.WeeklyPath, do(s.web.CachePage(problems.WeeklyQuery, s.lists.ShowWeekly)))
		public.Get(problemsview.PathFixes, do(s.web.CachePage(problems.FixesQuery, s.lists.ShowFixes)))
		public.Get("/release/{name}", do(s.web.CachePage(problems.NoQuery, s.lists.ShowRelease)))
		public.Get("/problem/{id}", do(s.lists.OrOld(s.web.CachePage(s.problems.ProblemQuery, s.problems.ShowProblem))))
		visited.Get("/problem/{id}/bug", do(s.bugs.ShowBug))
		public.Get("/problem/{id}/versions.{format}", do(export.File(s.problems.ExportVersions)))
		public.Get("/bug/{number}", do(s.lists.RedirectBug))
		public.Get(layout.PathSearch, do(s.web.CachePage(s.lists.SearchQuery, s.lists.Search)))
		public.Get(layout.PathSearch+".{format}", do(export.File(s.lists.ExportSearch)))
		visited.Get(layout.PathComplete, do(s.lists.CompleteSearch))
		visited.Get(layout.PathKeys, do(s.lists.ShowKeys))
		visited.Get("/bucket", do(s.lists.OrOld(s.lists.RedirectBucket)))
		visited.Get("/bucket/", do(s.lists.OrOld(s.lists.RedirectBucket)))
		visited.Get("/faf/*", do(s.lists.RedirectOld))
		visited.Get("/reports/*", do(s.lists.RedirectOld))
		visited.Get("/problems/{number:[0-9]+}", do(s.lists.RedirectOld))
		visited.Get("/problems/{number:[0-9]+}/*", do(s.lists.RedirectOld))
		visited.Get("/problems/bthash/{hash}", do(s.lists.RedirectOld))
	})
	// Providers send these requests, without a session and a CSRF token.
	root.With(web.Deadline(web.PageTime)).Post(web.PathOpenID+web.PathSignInReturn, do(s.people.ReceiveOpenID))
	root.With(web.Deadline(web.PageTime)).Post(web.PathOIDCLogout, do(s.people.LogoutOIDC))
	site.With(s.web.NeedPerson).Get(web.PathAccount, do(s.people.ShowAccount))
	site.With(s.web.NeedPerson).Post(peopleview.PathEndSession, do(s.people.EndSession))
	site.With(s.web.NeedPerson).Get(peopleview.PathSecondFactor, do(s.people.ShowSecondFactor))
	site.With(s.web.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorBegin,
		do(s.people.BeginSecondFactor))
	site.With(s.web.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorConfirm,
		do(s.people.ConfirmSecondFactor))
	site.With(s.web.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorCodes,
		do(s.people.NewRecoveryCodes))
	site.With(s.web.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorOff,
		do(s.people.SwitchOffSecondFactor))
	site.With(s.web.NeedPerson).Post(peopleview.PathIdentities+"/link", do(s.people.StartLink))
	site.With(s.web.NeedPerson).Post(peopleview.PathIdentities+"/{id}/unlink", do(s.people.Unlink))
	site.With(s.web.NeedPerson).Get(web.PathResume, do(s.people.ShowResume))
	site.With(s.web.NeedPerson).Post(peopleview.PathPassword, do(s.people.ChangePassword))
	site.With(s.web.NeedPerson).Get(peopleview.PathService+"{name}", do(s.people.ShowService))
	site.With(s.web.NeedPerson).Post(peopleview.PathService+"{name}/tokens/{id}/renew", do(s.people.RenewServiceToken))
	site.With(s.web.NeedPerson).Post(peopleview.PathService+"{name}/tokens/{id}/revoke", do(s.people.RevokeServiceToken))
	site.Group(func(viewer chi.Router) {
		viewer.Use(s.web.Need(crash.RoleViewer))
		viewer.Get("/release/{name}/concentrated", do(s.lists.ShowReleaseWhere))
		viewer.Get("/problem/{id}/traits", of(s.problems.ShowTraits))
		viewer.Get("/problem/{id}/compare", of(s.problems.ShowCompare))
		viewer.Post("/problem/{id}/notes", of(s.problems.AddNote))
		viewer.Post("/problem/{id}/notes/{note}", of(s.problems.ChangeNote))
		viewer.Get("/problem/{id}/symbols", do(s.problems.ShowSymbols))
		viewer.Get("/oops/{id}", do(s.lists.OrOld(s.problems.ShowReport)))
		viewer.Post(web.PathAccount, do(s.people.SaveAccount))
		viewer.Post(peopleview.PathTokens, do(s.people.CreateToken))
		viewer.Post(peopleview.PathTokens+"/{id}/revoke", do(s.people.RevokeToken))
		viewer.Get(layout.PathInbox, do(s.events.ShowInbox))
		viewer.Get(layout.PathInbox+".{format}", do(export.File(s.events.ExportInbox)))
		viewer.Post(eventsview.PathInboxRead, do(s.events.ReadNotices))
		viewer.Post(eventsview.PathInboxUnread, do(s.events.UnreadNotices))
		viewer.Get(eventsview.PathNotifications, do(s.events.ShowMailSettings))
		viewer.Post(eventsview.PathNotifications, do(s.events.SaveMailSettings))
		viewer.Post(eventsview.PathNotifications+"/weekly", do(s.events.AddWeeklyMail))
		viewer.Post(eventsview.PathNotifications+"/weekly/{id}/remove", do(s.events.RemoveWeeklyMail))
		viewer.Post(eventsview.PathNotifications+"/address", do(s.events.SetMailAddress))
		viewer.Post(eventsview.PathNotifications+"/remove", do(s.events.RemoveMailAddress))
		viewer.Post(eventsview.PathNotifications+"/test", do(s.events.SendTestMail))
		viewer.Get(eventsview.PathNotifications+"/confirm/{token}", do(s.events.ShowConfirmAddress))
		viewer.Post(eventsview.PathNotifications+"/confirm/{token}", do(s.events.ConfirmAddress))
		viewer.Get(problemsview.PathEmbargoed, do(s.decisions.ShowEmbargoes))
		viewer.Get(problemsview.PathSearches, do(s.lists.ShowSearches))
		viewer.Post(problemsview.PathSearches, do(s.lists.SaveSearch))
		viewer.Post(problemsview.PathSearches+"/{id}", do(s.lists.ChangeSearch))
		viewer.Post(problemsview.PathSearches+"/{id}/delete", do(s.lists.DeleteSearch))
		viewer.Post(problemsview.PathSearches+"/{id}/restore", do(s.lists.RestoreSearch))
		viewer.Get(layout.PathNews, do(s.lists.ShowNews))
		viewer.Post(layout.PathNews, do(s.lists.ReadNews))
		viewer.Get(layout.PathMy, do(s.lists.ShowMy))
		viewer.Get(layout.PathMy+".{format}", do(export.File(s.lists.ExportMy)))
		viewer.Post(problemsview.PathFollow, do(s.lists.Follow))
		viewer.Post(problemsview.PathUnfollow, do(s.lists.Unfollow))
		viewer.Post(problemsview.PathSeen, do(s.lists.SaveSeen))
		viewer.Get("/problem/{id}.{format}", do(export.File(s.problems.ExportReports)))
		viewer.Get("/user/", do(s.problems.ShowSystem))
		viewer.Get("/user/{system}", do(s.problems.ShowSystem))
	})
	site.Group(func(triager chi.Router) {
		triager.Use(s.web.NeedTriager)
		triager.Post("/oops/{id}/symbolise", do(s.problems.Symbolise))
		triager.Post("/problem/{id}/core", of(s.problems.AskForCore))
		triager.Post("/problem/{id}/core/withdraw", of(s.problems.WithdrawCore))
		triager.With(s.web.NeedLaunchpad).Post(peopleview.PathOwnTracker+"/request-token", do(s.people.BeginConnecting))
		triager.With(s.web.NeedLaunchpad).Post(peopleview.PathOwnTracker+"/access-token", do(s.people.FinishConnecting))
		triager.With(s.web.NeedLaunchpad).Post(peopleview.PathOwnTracker+"/check", do(s.people.CheckConnection))
		triager.With(s.web.NeedLaunchpad).Post(peopleview.PathOwnTracker+"/disconnect", do(s.people.Disconnect))
		triager.With(s.web.NeedLaunchpad).Post(peopleview.PathOwnTracker+"/preference", do(s.people.PreferOwn))
		triager.Get(layout.PathCandidates, do(s.events.ListCandidates))
		triager.Post(layout.PathCandidates+"/{id}/approve", do(s.events.ApproveCandidate))
		triager.Post(layout.PathCandidates+"/{id}/decline", do(s.events.DeclineCandidate))
		triager.Post(layout.PathCandidates+"/{id}/restore", do(s.events.RestoreCandidate))
		triager.Get(bugsview.PathChosen, do(s.bugs.ShowChosen))
		triager.Post(bugsview.PathChosen, do(s.bugs.ChangeChosen))
		triager.Get(bugsview.PathCreateChosen, do(s.bugs.ShowCreateChosen))
		triager.Get(bugsview.PathLinkChosen, do(s.bugs.ShowLinkBug))
		triager.Post(bugsview.PathLinkChosen, do(s.bugs.LinkBug))
		triager.Post(bugsview.PathUnlinkChosen, do(s.bugs.UnlinkChosen))
		triager.Get("/problem/{id}/merge", of(s.decisions.FindMerge))
		triager.Get(problemsview.PathMerge, do(s.decisions.ShowMerge))
		triager.Post(problemsview.PathMerge, do(s.decisions.MergeProblems))
		triager.Get("/problem/{id}/rename", of(s.decisions.ShowRename))
		triager.Post("/problem/{id}/rename", of(s.decisions.RenameProblem))
		triager.Get("/problem/{id}/split", of(s.decisions.ShowSplit))
		triager.Post("/problem/{id}/split", of(s.decisions.SplitProblem))
		triager.Post("/problem/{id}/undo", of(s.decisions.UndoDecision))
		triager.Get("/problem/{id}/assign", do(s.problems.ShowAssign))
		triager.Post("/problem/{id}/assign", do(s.problems.Assign))
		triager.Post("/problem/{id}/tags", of(s.problems.ChangeTags))
		triager.Get(problemsview.PathAssignChosen, do(s.problems.ShowAssign))
		triager.Post(problemsview.PathAssignChosen, do(s.problems.Assign))
		triager.Post(problemsview.PathUnassignChosen, do(s.problems.Unassign))
		for kind, path := range problemsview.TriagePaths {
			triager.Get("/problem/{id}/"+path, do(s.decisions.ShowForm(kind)))
			if kind.Restricts() {
				triager.Post("/problem/{id}/"+path, of(s.decisions.Restrict(kind)))
				continue
			}
			triager.Post("/problem/{id}/"+path, do(s.decisions.Set(kind)))
			triager.Get("/problems/"+path, do(s.decisions.ShowForm(kind)))
			triager.Post("/problems/"+path, do(s.decisions.Set(kind)))
		}
		triager.Post(problemsview.PathUndoTriage, do(s.decisions.Undo))
		triager.Get("/problem/{id}/link", do(s.bugs.ShowLinkBug))
		triager.Post("/problem/{id}/link", do(s.bugs.LinkBug))
		triager.Post("/problem/{id}/unlink", do(s.bugs.UnlinkBug))
		triager.Post("/problem/{id}/relink", do(s.bugs.RelinkBug))
		triager.Post("/problem/{id}/recheck", do(s.bugs.RecheckBugs))
		triager.Post("/problem/{id}/resume-section", do(s.bugs.ResumeSection))
		triager.Get("/problem/{id}/review", do(s.bugs.ShowReview))
		triager.Post("/problem/{id}/review", do(s.bugs.ReviewBug))
		triager.Get("/problem/{id}/review/bugs", do(s.bugs.ShowReviewBugs))
	})
	site.Group(func(admin chi.Router) {
		admin.Use(s.web.NeedAdmin)
		admin.Get(layout.PathAdmin, do(s.admin.ShowAdmin))
		admin.Get(layout.PathTracker, do(s.admin.ShowTracker))
		admin.With(s.web.NeedLaunchpad).Post(layout.PathTracker+"/request-token", do(s.admin.BeginConnecting))
		admin.With(s.web.NeedLaunchpad).Post(layout.PathTracker+"/access-token", do(s.admin.FinishConnecting))
		admin.With(s.web.NeedLaunchpad).Post(layout.PathTracker+"/check", do(s.admin.TryConnection))
		admin.With(s.web.NeedLaunchpad).Post(layout.PathTracker+"/show-token", do(s.admin.ShowToken))
		admin.With(s.web.NeedLaunchpad).Post(layout.PathTracker+"/forget", do(s.admin.ForgetToken))
		admin.Post(layout.PathTracker+"/test", do(s.admin.TestTracker))
		admin.Get(bugsview.PathUpdates, moved(layout.PathTracker, "#updates"))
		admin.Post(bugsview.PathUpdates, do(s.admin.ChangeUpdates))
		admin.Get(layout.PathMailAdmin, do(s.events.ShowMails))
		admin.Post(layout.PathMailAdmin+"/test", do(s.events.TestRelay))
		admin.Post(layout.PathMailAdmin+"/{id}/retry", do(s.events.RetryMail))
		admin.Get(layout.PathRules, do(s.events.ListRules))
		admin.Post(layout.PathRules, do(s.events.CreateRule))
		admin.Get(layout.PathRules+"/new", do(s.events.NewRule))
		admin.Get(layout.PathRules+"/{id}", do(s.events.ShowRule))
		admin.Post(layout.PathRules+"/{id}", do(s.events.ChangeRule))
		admin.Post(layout.PathRules+"/{id}/switch", do(s.events.SwitchRule))
		admin.Post(layout.PathRules+"/{id}/delete", do(s.events.DeleteRule(true)))
		admin.Post(layout.PathRules+"/{id}/restore", do(s.events.DeleteRule(false)))
		admin.Get(layout.PathPeople, do(s.admin.ShowPeople))
		admin.Get(layout.PathAccess, moved(layout.PathPeople, ""))
		admin.Post(layout.PathAccess, do(s.admin.Grant))
		admin.Post(layout.PathAccess+"/revoke", do(s.admin.Revoke))
		admin.Post(layout.PathAccess+"/second-factor", do(s.admin.ResetSecondFactor))
		admin.Get(layout.PathServices, moved(layout.PathPeople, "#services"))
		admin.Post(layout.PathServices, do(s.admin.CreateService))
		admin.Post(peopleview.PathService+"{name}/team", do(s.people.SetServiceTeam))
		admin.Post(peopleview.PathService+"{name}/tokens", do(s.people.CreateServiceToken))
		admin.Get(layout.PathAllTokens, do(s.admin.ListTokens))
		admin.Post(layout.PathAllTokens+"/revoke", do(s.admin.RevokeTokens))
		admin.Post(layout.PathAllTokens+"/{id}/revoke", do(s.admin.RevokeToken))
		admin.Get(layout.PathAudit, do(s.admin.ShowAudit))
		admin.Get(layout.PathAudit+".jsonl", do(s.admin.ExportAudit))
		admin.Get("/user/{system}/erase", do(s.admin.ShowErase))
		admin.Post("/user/{system}/erase", do(s.admin.Erase))
		admin.Get("/user/{system}/dump.jsonl", do(s.admin.DumpSystem))
		admin.Get(layout.PathErasures, moved(layout.PathData, "#erased"))
		admin.Get(layout.PathRoutes, do(s.admin.ShowRoutes))
		admin.Get(layout.PathRoutes+".csv", do(s.admin.ExportRoutes))
		admin.Post(layout.PathRoutes, do(s.admin.SaveRoutes))
		admin.Get(layout.PathDoors, do(s.admin.ShowDoors))
		admin.Post(layout.PathDoors, do(s.admin.CreateProject))
		admin.Post(layout.PathDoors+"/switch", do(s.admin.SwitchDoor))
		admin.Post(layout.PathDoors+"/{id}", do(s.admin.ChangeProject))
		admin.Get(layout.PathTemplates, do(s.admin.ShowTemplates))
		admin.Post(layout.PathTemplates, do(s.admin.ChangeTemplate))
		admin.Get(layout.PathData, do(s.admin.ShowData))
		admin.Get(layout.PathPrivacy, do(s.admin.ShowPrivacy))
		admin.Post(layout.PathPrivacy+"/check", do(s.admin.StartPrivacyRun(privacy.RunCheck)))
		admin.Post(layout.PathPrivacy+"/apply", do(s.admin.StartPrivacyRun(privacy.RunApply)))
		admin.Get(layout.PathRegroup, do(s.admin.ShowRegroup))
		admin.Post(layout.PathRegroup, do(s.admin.StartRegroup(true)))
		admin.Post(layout.PathRegroup+"/apply", do(s.admin.StartRegroup(false)))
		admin.Post(layout.PathRegroup+"/stop", do(s.admin.StopRegroup))
		admin.Get(layout.PathSymbols, do(s.admin.ShowSymbols))
		admin.Get(layout.PathSymbols+".{format}", do(export.File(s.admin.ExportSymbols)))
		admin.Get(layout.PathEndpoints, moved(layout.PathRules, "#endpoints"))
		admin.Post(layout.PathEndpoints, do(s.events.AddEndpoint))
		admin.Get(layout.PathEndpoints+"/new", do(s.events.NewEndpoint))
		admin.Post(layout.PathEndpoints+"/stop", do(s.events.SwitchNotifications(true)))
		admin.Post(layout.PathEndpoints+"/resume", do(s.events.SwitchNotifications(false)))
		admin.Get(layout.PathEndpoints+"/{id}", do(s.events.ShowEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}", do(s.events.SaveEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}/test", do(s.events.TestEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}/rotate", do(s.events.RotateSecret))
		admin.Post(layout.PathEndpoints+"/{id}/enable", do(s.events.SwitchEndpoint(true)))
		admin.Post(layout.PathEndpoints+"/{id}/disable", do(s.events.SwitchEndpoint(false)))
		admin.Post(layout.PathEndpoints+"/{id}/delete", do(s.events.DeleteEndpoint))
		admin.Get(layout.PathEndpoints+"/{id}/deliveries/{delivery}", do(s.events.ShowDelivery))
		admin.Post(layout.PathEndpoints+"/{id}/deliveries/{delivery}/again", do(s.events.SendAgain))
		admin.Get(layout.PathFilings, do(s.bugs.ListFilings))
		admin.Get(layout.PathFilings+".{format}", do(export.File(s.bugs.ExportLedger)))
		admin.Get(layout.PathFilings+"/{id}", do(s.bugs.ShowFiling))
		admin.Post(layout.PathFilings+"/{id}/retry", do(s.bugs.RetryFiling))
		admin.Post(layout.PathFilings+"/{id}/give-up", do(s.bugs.GiveUpFiling))
	})
	return root, nil
}

// moved redirects to the page of administration that has taken over an address, with its query.
func moved(path, section string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to := path
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, to+section, http.StatusMovedPermanently)
	}
}

// apiRoutes returns the handler of the addresses below /api/1.0. Reading needs no session. Creating
// bugs and deciding about problems needs an API token, or a session and its CSRF token.
func (s *Server) apiRoutes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.web.NoteAddress, web.Deadline(web.PageTime), s.authenticateToken, s.limitRate, chimw.GetHead)
	r.NotFound(s.web.Do(s.serveAPI))
	r.MethodNotAllowed(s.web.Do(s.serveAPI)) // serveAPI checks the method
	r.Method(http.MethodPost, "/create-bug-report", s.createByAPI())
	r.Method(http.MethodPost, "/create-bug-report/", s.createByAPI())
	people := s.triageByAPI(s.problems.ChangePeople, crash.ScopeTriage, problems.ErrPeopleMedia)
	r.Method(http.MethodPost, "/problem-people", people)
	r.Method(http.MethodPost, "/problem-people/", people)
	r.Method(http.MethodPost, "/"+api.SetStatus, s.setStatusByAPI())
	r.Method(http.MethodPost, "/"+api.SetStatus+"/", s.setStatusByAPI())
	r.Method(http.MethodPost, "/"+api.EraseMachine, s.eraseByAPI())
	r.Method(http.MethodPost, "/"+api.EraseMachine+"/", s.eraseByAPI())
	answer := s.withoutToken(func(h http.Handler) http.Handler {
		return s.web.WithSession(s.web.Recognise(s.web.LimitVisitors(h)))
	}, s.web.Do(s.serveAPI))
	r.Method(http.MethodGet, "/*", answer)
	r.Method(http.MethodPost, "/*", answer)
	return r
}

// notFound answers requests to unknown addresses. It redirects if the address exists without its
// trailing slash.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) error {
	trimmed := "/" + strings.Trim(r.URL.EscapedPath(), "/")
	if web.SafeMethods[r.Method] && trimmed != r.URL.EscapedPath() && hasRoute(r, http.MethodGet, trimmed) {
		if r.URL.RawQuery != "" {
			trimmed += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, trimmed, http.StatusMovedPermanently)
		return nil
	}
	return web.ErrNoPage
}

// wrongMethod answers requests with a method that their address does not support.
func (s *Server) wrongMethod(w http.ResponseWriter, r *http.Request) error {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		lookup := method
		if method == http.MethodHead {
			lookup = http.MethodGet
		}
		if hasRoute(r, lookup, r.URL.EscapedPath()) {
			w.Header().Add("Allow", method)
		}
	}
	return &web.MethodError{}
}

func hasRoute(r *http.Request, method, path string) bool {
	return chi.RouteContext(r.Context()).Routes.Match(chi.NewRouteContext(), method, path)
}
