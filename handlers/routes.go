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
	"mishap/crash/stats"
	"mishap/handlers/admin"
	"mishap/handlers/api"
	"mishap/handlers/negotiate"
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

// routes returns the handler with all routes.
func (s *Server) routes() (http.Handler, error) {
	compress, err := Compression()
	if err != nil {
		return nil, err
	}
	root := chi.NewRouter()
	root.Use(s.Identify, func(h http.Handler) http.Handler { return compress(h) },
		s.Observe, s.RecordChanges, s.Recovered, web.Headers, chimw.GetHead)
	root.With(s.LimitProbes).Get("/healthz", s.Do(admin.ShowHealth))
	root.With(s.LimitProbes).Get("/readyz", s.Do(s.admin.ShowReady))
	root.With(s.LimitAssets).Method(http.MethodGet, assets.Prefix+"*",
		assets.Handler(s.Config.AssetsDir, negotiate.AcceptsGzip))

	// Mail programs unsubscribe without cookies, so there is no session and no CSRF token.
	root.Group(func(links chi.Router) {
		links.Use(s.NoteAddress, web.Deadline(web.PageTime), s.LimitVisitors)
		links.Get(eventsview.PathUnsubscribe+"{token}", s.Do(s.events.ShowUnsubscribe))
		links.Post(eventsview.PathUnsubscribe+"{token}", s.Do(s.events.Unsubscribe))
	})

	site := chi.NewRouter()
	site.Use(s.NoteAddress, web.Deadline(web.PageTime),
		s.WithSession, s.Recognise, s.Guard, s.exportsByToken, chimw.GetHead)
	site.NotFound(s.LimitVisitors(s.Do(s.notFound)).ServeHTTP)
	site.MethodNotAllowed(s.LimitVisitors(s.Do(s.wrongMethod)).ServeHTTP)
	visited := site.With(s.LimitVisitors)
	root.Mount("/", site)
	root.Mount(strings.TrimSuffix(api.Prefix, "/"), s.apiRoutes())

	site.Group(func(public chi.Router) {
		visited.Get(web.PathSignIn, s.Do(s.people.ShowSignIn))
		visited.Post(web.PathSignIn, s.Do(s.people.SignIn))
		visited.Get(web.PathSignInCode, s.Do(s.people.ShowCode))
		visited.Post(web.PathSignInCode, s.Do(s.people.SignInByCode))
		visited.Post("/logout", s.Do(s.people.SignOut))
		public.Post(web.PathOpenID, s.Do(s.people.StartOpenID))
		public.Get(web.PathOpenID+web.PathSignInReturn, s.Do(s.people.FinishOpenID))
		public.Post(web.PathOIDC, s.Do(s.people.StartOIDC))
		public.Get(web.PathOIDC+web.PathSignInReturn, s.Do(s.people.FinishOIDC))
		public.Get("/", s.Do(s.CachePage(s.lists.ListQuery, s.lists.ListProblems)))
		visited.Get("/api", s.Do(s.showAPI))
		visited.Get(layout.PathTheme, s.Do(s.SetTheme))
		public.Get("/problems.{format}", s.Do(s.lists.ExportFile))
		public.Get("/package/{name}", s.Do(s.CachePage(problems.CompareQuery, s.lists.ShowPackage)))
		public.Get(stats.GatePath, s.Do(s.CachePage(problems.GateQuery, s.lists.ShowGate)))
		public.Get("/release/{name}", s.Do(s.CachePage(problems.NoQuery, s.lists.ShowRelease)))
		public.Get("/problem/{id}", s.Do(s.CachePage(s.problems.ProblemQuery, s.problems.ShowProblem)))
		visited.Get("/problem/{id}/bug", s.Do(s.bugs.ShowBug))
		public.Get("/problem/{id}/versions.{format}", s.Do(s.problems.ExportVersions))
		public.Get("/bug/{number}", s.Do(s.lists.RedirectBug))
		public.Get(layout.PathSearch, s.Do(s.CachePage(s.lists.SearchQuery, s.lists.Search)))
		public.Get(layout.PathSearch+".{format}", s.Do(s.lists.ExportSearch))
		visited.Get(layout.PathComplete, s.Do(s.lists.CompleteSearch))
		visited.Get(layout.PathKeys, s.Do(s.lists.ShowKeys))
		visited.Get("/bucket", s.Do(s.lists.RedirectBucket))
		visited.Get("/bucket/", s.Do(s.lists.RedirectBucket))
	})
	// Providers send these requests, without a session and a CSRF token.
	root.With(web.Deadline(web.PageTime)).Post(web.PathOpenID+web.PathSignInReturn, s.Do(s.people.ReceiveOpenID))
	root.With(web.Deadline(web.PageTime)).Post(web.PathOIDCLogout, s.Do(s.people.LogoutOIDC))
	site.With(s.NeedPerson).Get(web.PathAccount, s.Do(s.people.ShowAccount))
	site.With(s.NeedPerson).Post(peopleview.PathEndSession, s.Do(s.people.EndSession))
	site.With(s.NeedPerson).Get(peopleview.PathSecondFactor, s.Do(s.people.ShowSecondFactor))
	site.With(s.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorBegin,
		s.Do(s.people.BeginSecondFactor))
	site.With(s.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorConfirm,
		s.Do(s.people.ConfirmSecondFactor))
	site.With(s.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorCodes, s.Do(s.people.NewRecoveryCodes))
	site.With(s.NeedPerson).Post(peopleview.PathSecondFactor+peopleview.SecondFactorOff,
		s.Do(s.people.SwitchOffSecondFactor))
	site.With(s.NeedPerson).Post(peopleview.PathIdentities+"/link", s.Do(s.people.StartLink))
	site.With(s.NeedPerson).Post(peopleview.PathIdentities+"/{id}/unlink", s.Do(s.people.Unlink))
	site.With(s.NeedPerson).Get(web.PathResume, s.Do(s.people.ShowResume))
	site.With(s.NeedPerson).Post(peopleview.PathPassword, s.Do(s.people.ChangePassword))
	site.With(s.NeedPerson).Get(peopleview.PathService+"{name}", s.Do(s.people.ShowService))
	site.With(s.NeedPerson).Post(peopleview.PathService+"{name}/tokens/{id}/renew", s.Do(s.people.RenewServiceToken))
	site.With(s.NeedPerson).Post(peopleview.PathService+"{name}/tokens/{id}/revoke", s.Do(s.people.RevokeServiceToken))
	site.Group(func(viewer chi.Router) {
		viewer.Use(s.Need(crash.RoleViewer))
		viewer.Get("/problem/{id}/traits", s.Do(s.problems.ShowTraits))
		viewer.Get("/problem/{id}/compare", s.Do(s.problems.ShowCompare))
		viewer.Post("/problem/{id}/notes", s.Do(s.problems.AddNote))
		viewer.Post("/problem/{id}/notes/{note}", s.Do(s.problems.ChangeNote))
		viewer.Get("/problem/{id}/symbols", s.Do(s.problems.ShowSymbols))
		viewer.Get("/oops/{id}", s.Do(s.problems.ShowReport))
		viewer.Post(web.PathAccount, s.Do(s.people.SaveAccount))
		viewer.Post(peopleview.PathTokens, s.Do(s.people.CreateToken))
		viewer.Post(peopleview.PathTokens+"/{id}/revoke", s.Do(s.people.RevokeToken))
		viewer.Get(layout.PathInbox, s.Do(s.events.ShowInbox))
		viewer.Get(layout.PathInbox+".{format}", s.Do(s.events.ExportInbox))
		viewer.Post(eventsview.PathInboxRead, s.Do(s.events.ReadNotices))
		viewer.Post(eventsview.PathInboxUnread, s.Do(s.events.UnreadNotices))
		viewer.Get(eventsview.PathNotifications, s.Do(s.events.ShowMailSettings))
		viewer.Post(eventsview.PathNotifications, s.Do(s.events.SaveMailSettings))
		viewer.Post(eventsview.PathNotifications+"/address", s.Do(s.events.SetMailAddress))
		viewer.Post(eventsview.PathNotifications+"/remove", s.Do(s.events.RemoveMailAddress))
		viewer.Post(eventsview.PathNotifications+"/test", s.Do(s.events.SendTestMail))
		viewer.Get(eventsview.PathNotifications+"/confirm/{token}", s.Do(s.events.ShowConfirmAddress))
		viewer.Post(eventsview.PathNotifications+"/confirm/{token}", s.Do(s.events.ConfirmAddress))
		viewer.Get(problemsview.PathEmbargoed, s.Do(s.decisions.ShowEmbargoes))
		viewer.Get(problemsview.PathSearches, s.Do(s.lists.ShowSearches))
		viewer.Post(problemsview.PathSearches, s.Do(s.lists.SaveSearch))
		viewer.Post(problemsview.PathSearches+"/{id}", s.Do(s.lists.ChangeSearch))
		viewer.Post(problemsview.PathSearches+"/{id}/delete", s.Do(s.lists.DeleteSearch))
		viewer.Post(problemsview.PathSearches+"/{id}/restore", s.Do(s.lists.RestoreSearch))
		viewer.Get(layout.PathMy, s.Do(s.lists.ShowMy))
		viewer.Get(layout.PathMy+".{format}", s.Do(s.lists.ExportMyFile))
		viewer.Post(problemsview.PathFollow, s.Do(s.lists.Follow))
		viewer.Post(problemsview.PathUnfollow, s.Do(s.lists.Unfollow))
		viewer.Post(problemsview.PathSeen, s.Do(s.lists.SaveSeen))
		viewer.Get("/problem/{id}.{format}", s.Do(s.problems.ExportProblemReports))
		viewer.Get("/user/", s.Do(s.problems.ShowSystem))
		viewer.Get("/user/{system}", s.Do(s.problems.ShowSystem))
	})
	site.Group(func(triager chi.Router) {
		triager.Use(s.NeedTriager)
		triager.Post("/oops/{id}/symbolise", s.Do(s.problems.Symbolise))
		triager.Post("/problem/{id}/core", s.Do(s.problems.AskForCore))
		triager.Post("/problem/{id}/core/withdraw", s.Do(s.problems.WithdrawCore))
		triager.Post(peopleview.PathOwnTracker+"/request-token", s.Do(s.people.BeginConnecting))
		triager.Post(peopleview.PathOwnTracker+"/access-token", s.Do(s.people.FinishConnecting))
		triager.Post(peopleview.PathOwnTracker+"/check", s.Do(s.people.CheckConnection))
		triager.Post(peopleview.PathOwnTracker+"/disconnect", s.Do(s.people.Disconnect))
		triager.Post(peopleview.PathOwnTracker+"/preference", s.Do(s.people.PreferOwn))
		triager.Get(layout.PathCandidates, s.Do(s.events.ListCandidates))
		triager.Post(layout.PathCandidates+"/{id}/approve", s.Do(s.events.ApproveCandidate))
		triager.Post(layout.PathCandidates+"/{id}/decline", s.Do(s.events.DeclineCandidate))
		triager.Post(layout.PathCandidates+"/{id}/restore", s.Do(s.events.RestoreCandidate))
		triager.Get(bugsview.PathChosen, s.Do(s.bugs.ShowChosen))
		triager.Post(bugsview.PathChosen, s.Do(s.bugs.ChangeChosen))
		triager.Get(bugsview.PathCreateChosen, s.Do(s.bugs.ShowCreateChosen))
		triager.Get(bugsview.PathLinkChosen, s.Do(s.bugs.ShowLinkChosen))
		triager.Post(bugsview.PathLinkChosen, s.Do(s.bugs.LinkChosen))
		triager.Post(bugsview.PathUnlinkChosen, s.Do(s.bugs.UnlinkChosen))
		triager.Get("/problem/{id}/merge", s.Do(s.decisions.FindMerge))
		triager.Get(problemsview.PathMerge, s.Do(s.decisions.ShowMerge))
		triager.Post(problemsview.PathMerge, s.Do(s.decisions.MergeProblems))
		triager.Get("/problem/{id}/rename", s.Do(s.decisions.ShowRename))
		triager.Post("/problem/{id}/rename", s.Do(s.decisions.RenameProblem))
		triager.Get("/problem/{id}/split", s.Do(s.decisions.ShowSplit))
		triager.Post("/problem/{id}/split", s.Do(s.decisions.SplitProblem))
		triager.Post("/problem/{id}/undo", s.Do(s.decisions.UndoDecision))
		triager.Post("/problem/{id}/assign", s.Do(s.problems.Assign))
		triager.Post("/problem/{id}/assign/undo", s.Do(s.problems.UndoAssignment))
		triager.Post("/problem/{id}/tags", s.Do(s.problems.ChangeTags))
		triager.Get(problemsview.PathAssignChosen, s.Do(s.problems.ShowAssignChosen))
		triager.Post(problemsview.PathAssignChosen, s.Do(s.problems.AssignChosen))
		triager.Post(problemsview.PathUnassignChosen, s.Do(s.problems.UnassignChosen))
		triager.Get("/problem/{id}/mute", s.Do(s.decisions.ShowForm(crash.TriageMuted)))
		triager.Post("/problem/{id}/mute", s.Do(s.decisions.SetOne(crash.TriageMuted)))
		triager.Get("/problem/{id}/wontfix", s.Do(s.decisions.ShowForm(crash.TriageWontFix)))
		triager.Post("/problem/{id}/wontfix", s.Do(s.decisions.SetOne(crash.TriageWontFix)))
		triager.Get("/problem/{id}/fixed", s.Do(s.decisions.ShowForm(crash.TriageFixed)))
		triager.Post("/problem/{id}/fixed", s.Do(s.decisions.SetOne(crash.TriageFixed)))
		triager.Get("/problem/{id}/embargo", s.Do(s.decisions.ShowEmbargo))
		triager.Post("/problem/{id}/embargo", s.Do(s.decisions.ChangeEmbargo))
		triager.Get("/problem/{id}/hold", s.Do(s.decisions.ShowHold))
		triager.Post("/problem/{id}/hold", s.Do(s.decisions.ChangeHold))
		triager.Get(layout.PathMuteChosen, s.Do(s.decisions.ShowChosen(crash.TriageMuted)))
		triager.Post(layout.PathMuteChosen, s.Do(s.decisions.SetChosen(crash.TriageMuted)))
		triager.Get(problemsview.PathWontFixChosen, s.Do(s.decisions.ShowChosen(crash.TriageWontFix)))
		triager.Post(problemsview.PathWontFixChosen, s.Do(s.decisions.SetChosen(crash.TriageWontFix)))
		triager.Get(problemsview.PathFixedChosen, s.Do(s.decisions.ShowChosen(crash.TriageFixed)))
		triager.Post(problemsview.PathFixedChosen, s.Do(s.decisions.SetChosen(crash.TriageFixed)))
		triager.Post(problemsview.PathUndoTriage, s.Do(s.decisions.Undo))
		triager.Get("/problem/{id}/link", s.Do(s.bugs.ShowLinkBug))
		triager.Post("/problem/{id}/link", s.Do(s.bugs.LinkBug))
		triager.Post("/problem/{id}/unlink", s.Do(s.bugs.UnlinkBug))
		triager.Post("/problem/{id}/relink", s.Do(s.bugs.RelinkBug))
		triager.Post("/problem/{id}/recheck", s.Do(s.bugs.RecheckBugs))
		triager.Post("/problem/{id}/resume-section", s.Do(s.bugs.ResumeSection))
		triager.Get("/problem/{id}/review", s.Do(s.bugs.ShowReview))
		triager.Post("/problem/{id}/review", s.Do(s.bugs.ReviewBug))
		triager.Get("/problem/{id}/review/bugs", s.Do(s.bugs.ShowReviewBugs))
	})
	site.Group(func(admin chi.Router) {
		admin.Use(s.NeedAdmin)
		admin.Get("/admin", s.Do(s.admin.ShowAdmin))
		admin.Get(web.PathTracker, s.Do(s.admin.ShowTracker))
		admin.Post(web.PathTracker+"/request-token", s.Do(s.admin.BeginConnecting))
		admin.Post(web.PathTracker+"/access-token", s.Do(s.admin.FinishConnecting))
		admin.Post(web.PathTracker+"/check", s.Do(s.admin.TryConnection))
		admin.Post(web.PathTracker+"/show-token", s.Do(s.admin.ShowToken))
		admin.Post(web.PathTracker+"/forget", s.Do(s.admin.ForgetToken))
		admin.Get(bugsview.PathUpdates, s.Do(s.admin.ShowUpdates))
		admin.Post(bugsview.PathUpdates, s.Do(s.admin.ChangeUpdates))
		admin.Get(layout.PathMailAdmin, s.Do(s.events.ShowMails))
		admin.Post(layout.PathMailAdmin+"/test", s.Do(s.events.TestRelay))
		admin.Post(layout.PathMailAdmin+"/{id}/retry", s.Do(s.events.RetryMail))
		admin.Get(layout.PathRules, s.Do(s.events.ListRules))
		admin.Post(layout.PathRules, s.Do(s.events.CreateRule))
		admin.Get(layout.PathRules+"/new", s.Do(s.events.NewRule))
		admin.Get(layout.PathRules+"/{id}", s.Do(s.events.ShowRule))
		admin.Post(layout.PathRules+"/{id}", s.Do(s.events.ChangeRule))
		admin.Post(layout.PathRules+"/{id}/switch", s.Do(s.events.SwitchRule))
		admin.Post(layout.PathRules+"/{id}/delete", s.Do(s.events.DeleteRule))
		admin.Post(layout.PathRules+"/{id}/restore", s.Do(s.events.RestoreRule))
		admin.Get(layout.PathAccess, s.Do(s.admin.ShowAccess))
		admin.Post(layout.PathAccess, s.Do(s.admin.Grant))
		admin.Post(layout.PathAccess+"/revoke", s.Do(s.admin.Revoke))
		admin.Post(layout.PathAccess+"/second-factor", s.Do(s.admin.ResetSecondFactor))
		admin.Get(layout.PathServices, s.Do(s.people.ListServices))
		admin.Post(layout.PathServices, s.Do(s.people.CreateService))
		admin.Post(peopleview.PathService+"{name}/team", s.Do(s.people.SetServiceTeam))
		admin.Post(peopleview.PathService+"{name}/tokens", s.Do(s.people.CreateServiceToken))
		admin.Get(layout.PathAllTokens, s.Do(s.admin.ListTokens))
		admin.Post(layout.PathAllTokens+"/revoke", s.Do(s.admin.RevokeTokens))
		admin.Post(layout.PathAllTokens+"/{id}/revoke", s.Do(s.admin.RevokeToken))
		admin.Get(layout.PathAudit, s.Do(s.admin.ShowAudit))
		admin.Get(layout.PathAudit+".jsonl", s.Do(s.admin.ExportAudit))
		admin.Get("/user/{system}/erase", s.Do(s.admin.ShowErase))
		admin.Post("/user/{system}/erase", s.Do(s.admin.Erase))
		admin.Get("/user/{system}/dump.jsonl", s.Do(s.admin.DumpSystem))
		admin.Get(layout.PathErasures, s.Do(s.admin.ListErasures))
		admin.Get(layout.PathTemplates, s.Do(s.admin.ShowTemplates))
		admin.Post(layout.PathTemplates, s.Do(s.admin.ChangeTemplate))
		admin.Get(layout.PathPrivacy, s.Do(s.admin.ShowPrivacy))
		admin.Post(layout.PathPrivacy+"/check", s.Do(s.admin.CheckPrivacy))
		admin.Post(layout.PathPrivacy+"/apply", s.Do(s.admin.ApplyPrivacy))
		admin.Get(layout.PathRegroup, s.Do(s.admin.ShowRegroup))
		admin.Post(layout.PathRegroup, s.Do(s.admin.TryRegroup))
		admin.Post(layout.PathRegroup+"/apply", s.Do(s.admin.ApplyRegroup))
		admin.Post(layout.PathRegroup+"/stop", s.Do(s.admin.StopRegroup))
		admin.Get(layout.PathSymbols, s.Do(s.admin.ShowSymbols))
		admin.Get(layout.PathSymbols+".{format}", s.Do(s.admin.ExportSymbols))
		admin.Get(layout.PathEndpoints, s.Do(s.events.ListEndpoints))
		admin.Post(layout.PathEndpoints, s.Do(s.events.AddEndpoint))
		admin.Get(layout.PathEndpoints+"/new", s.Do(s.events.NewEndpoint))
		admin.Post(layout.PathEndpoints+"/stop", s.Do(s.events.StopNotifications))
		admin.Post(layout.PathEndpoints+"/resume", s.Do(s.events.ResumeNotifications))
		admin.Get(layout.PathEndpoints+"/{id}", s.Do(s.events.ShowEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}", s.Do(s.events.SaveEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}/test", s.Do(s.events.TestEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}/rotate", s.Do(s.events.RotateSecret))
		admin.Post(layout.PathEndpoints+"/{id}/enable", s.Do(s.events.EnableEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}/disable", s.Do(s.events.DisableEndpoint))
		admin.Post(layout.PathEndpoints+"/{id}/delete", s.Do(s.events.DeleteEndpoint))
		admin.Get(layout.PathEndpoints+"/{id}/deliveries/{delivery}", s.Do(s.events.ShowDelivery))
		admin.Post(layout.PathEndpoints+"/{id}/deliveries/{delivery}/again", s.Do(s.events.SendAgain))
		admin.Get(layout.PathFilings, s.Do(s.bugs.ListFilings))
		admin.Get(layout.PathFilings+".{format}", s.Do(s.bugs.ExportFilings))
		admin.Get(layout.PathFilings+"/{id}", s.Do(s.bugs.ShowFiling))
		admin.Post(layout.PathFilings+"/{id}/retry", s.Do(s.bugs.RetryFiling))
		admin.Post(layout.PathFilings+"/{id}/give-up", s.Do(s.bugs.GiveUpFiling))
	})
	return root, nil
}

// apiRoutes returns the handler of the addresses below /api/1.0. Reading needs no session. Creating
// bugs and deciding about problems needs an API token, or a session and its CSRF token.
func (s *Server) apiRoutes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.NoteAddress, web.Deadline(web.PageTime), s.authenticateToken, s.limitRate, chimw.GetHead)
	r.NotFound(s.Do(s.serveAPI))
	r.MethodNotAllowed(s.Do(s.serveAPI)) // serveAPI checks the method
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
		return s.WithSession(s.Recognise(s.LimitVisitors(h)))
	}, s.Do(s.serveAPI))
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

// hasRoute reports whether there is a route for a method and path.
func hasRoute(r *http.Request, method, path string) bool {
	return chi.RouteContext(r.Context()).Routes.Match(chi.NewRouteContext(), method, path)
}
