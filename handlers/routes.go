package handlers

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"github.com/klauspost/compress/gzhttp"

	"mishap/assets"
	"mishap/crash"
	"mishap/handlers/api"
	"mishap/views"
)

// packLevel compresses twice as fast as the default level and makes pages a seventh larger. Cached pages use the default.
const packLevel = 3

// Packing packs answers that are made for one request, by gzip.
func Packing() (func(http.Handler) http.HandlerFunc, error) {
	return gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(packLevel))
}

// routes is the whole route table.
func (s *Server) routes() (http.Handler, error) {
	compress, err := Packing()
	if err != nil {
		return nil, err
	}
	root := chi.NewRouter()
	root.Use(s.identify, func(h http.Handler) http.Handler { return compress(h) }, s.observe, s.recovered, headers, chimw.GetHead)
	root.Get("/healthz", s.do(showHealth))
	root.Get("/readyz", s.do(s.admin.showReady))
	root.Method(http.MethodGet, assets.Prefix+"*", assets.Handler(s.config.AssetsDir))

	site := chi.NewRouter()
	site.Use(s.config.TrustedProxies.Middleware, deadline(pageTime), s.withSession, s.recognise, s.guard, s.exportsByToken, chimw.GetHead)
	site.NotFound(s.do(s.notFound))
	site.MethodNotAllowed(s.do(s.wrongMethod))
	root.Mount("/", site)
	root.Mount(strings.TrimSuffix(api.Prefix, "/"), s.apiRoutes())

	site.Group(func(public chi.Router) {
		public.Get(pathSignIn, s.do(s.account.showSignIn))
		public.Post(pathSignIn, s.do(s.account.signIn))
		public.Post("/logout", s.do(s.account.signOut))
		public.Get("/", s.do(s.cachePage(s.lists.listQuery, s.lists.listProblems)))
		public.Get("/api", s.do(s.showAPI))
		public.Get("/problems.{format}", s.do(s.lists.exportFile))
		public.Get("/package/{name}", s.do(s.cachePage(noQuery, s.lists.showPackage)))
		public.Get("/release/{name}", s.do(s.cachePage(noQuery, s.lists.showRelease)))
		public.Get("/problem/{id}", s.do(s.cachePage(s.problems.problemQuery, s.problems.showProblem)))
		public.Get("/problem/{id}/bug", s.do(s.bugs.showBug))
		public.Get("/problem/{id}/versions.{format}", s.do(s.problems.exportVersions))
		public.Get("/bug/{number}", s.do(s.lists.redirectBug))
		public.Get(views.PathSearch, s.do(s.cachePage(s.lists.searchQuery, s.lists.search)))
		public.Get(views.PathSearch+".{format}", s.do(s.lists.exportSearch))
		public.Get(views.PathComplete, s.do(s.lists.completeSearch))
		public.Get(views.PathKeys, s.do(s.lists.showKeys))
		public.Get("/bucket", s.do(s.lists.redirectBucket))
		public.Get("/bucket/", s.do(s.lists.redirectBucket))
	})
	site.Group(func(viewer chi.Router) {
		viewer.Use(s.need(crash.RoleViewer))
		viewer.Get("/problem/{id}/traits", s.do(s.problems.showTraits))
		viewer.Post("/problem/{id}/notes", s.do(s.problems.addNote))
		viewer.Post("/problem/{id}/notes/{note}", s.do(s.problems.changeNote))
		viewer.Get("/oops/{id}", s.do(s.problems.showReport))
		viewer.Get(pathAccount, s.do(s.account.showAccount))
		viewer.Post(pathAccount, s.do(s.account.saveAccount))
		viewer.Post(views.PathTokens, s.do(s.account.makeToken))
		viewer.Post(views.PathTokens+"/{id}/revoke", s.do(s.account.revokeToken))
		viewer.Get(views.PathMy, s.do(s.lists.showMy))
		viewer.Get(views.PathMy+".{format}", s.do(s.lists.exportMyFile))
		viewer.Post(views.PathFollow, s.do(s.lists.follow))
		viewer.Post(views.PathUnfollow, s.do(s.lists.unfollow))
		viewer.Post(views.PathSeen, s.do(s.lists.saveSeen))
		viewer.Get("/problem/{id}.{format}", s.do(s.problems.exportProblemReports))
		viewer.Get("/user/", s.do(s.problems.showSystem))
		viewer.Get("/user/{system}", s.do(s.problems.showSystem))
	})
	site.Group(func(triager chi.Router) {
		triager.Use(s.need(crash.RoleTriager))
		triager.Get(views.PathChosen, s.do(s.bugs.showChosen))
		triager.Post(views.PathChosen, s.do(s.bugs.changeChosen))
		triager.Get(views.PathLinkChosen, s.do(s.bugs.showLinkChosen))
		triager.Post(views.PathLinkChosen, s.do(s.bugs.linkChosen))
		triager.Post(views.PathUnlinkChosen, s.do(s.bugs.unlinkChosen))
		triager.Get("/problem/{id}/merge", s.do(s.decisions.findMerge))
		triager.Get(views.PathMerge, s.do(s.decisions.showMerge))
		triager.Post(views.PathMerge, s.do(s.decisions.mergeProblems))
		triager.Get("/problem/{id}/rename", s.do(s.decisions.showRename))
		triager.Post("/problem/{id}/rename", s.do(s.decisions.renameProblem))
		triager.Get("/problem/{id}/split", s.do(s.decisions.showSplit))
		triager.Post("/problem/{id}/split", s.do(s.decisions.splitProblem))
		triager.Post("/problem/{id}/undo", s.do(s.decisions.undoDecision))
		triager.Get("/problem/{id}/link", s.do(s.bugs.showLinkBug))
		triager.Post("/problem/{id}/link", s.do(s.bugs.linkBug))
		triager.Post("/problem/{id}/unlink", s.do(s.bugs.unlinkBug))
		triager.Post("/problem/{id}/relink", s.do(s.bugs.relinkBug))
		triager.Post("/problem/{id}/recheck", s.do(s.bugs.recheckBugs))
		triager.Get("/problem/{id}/review", s.do(s.bugs.showReview))
		triager.Post("/problem/{id}/review", s.do(s.bugs.reviewBug))
		triager.Get("/problem/{id}/review/bugs", s.do(s.bugs.showReviewBugs))
	})
	site.Group(func(admin chi.Router) {
		admin.Use(s.need(crash.RoleAdmin))
		admin.Get("/admin", s.do(s.admin.showAdmin))
		admin.Get(pathTracker, s.do(s.admin.showTracker))
		admin.Post(pathTracker+"/request-token", s.do(s.admin.beginConnecting))
		admin.Post(pathTracker+"/access-token", s.do(s.admin.finishConnecting))
		admin.Post(pathTracker+"/check", s.do(s.admin.tryConnection))
		admin.Post(pathTracker+"/show-token", s.do(s.admin.showToken))
		admin.Post(pathTracker+"/forget", s.do(s.admin.forgetToken))
		admin.Post(pathTracker+"/comments", s.do(s.admin.switchComments))
		admin.Get(views.PathTemplates, s.do(s.admin.showTemplates))
		admin.Post(views.PathTemplates, s.do(s.admin.changeTemplate))
		admin.Get(views.PathRegroup, s.do(s.admin.showRegroup))
		admin.Post(views.PathRegroup, s.do(s.admin.tryRegroup))
		admin.Post(views.PathRegroup+"/apply", s.do(s.admin.applyRegroup))
		admin.Post(views.PathRegroup+"/stop", s.do(s.admin.stopRegroup))
		admin.Get(views.PathFilings, s.do(s.bugs.listFilings))
		admin.Get(views.PathFilings+".{format}", s.do(s.bugs.exportFilings))
		admin.Get(views.PathFilings+"/{id}", s.do(s.bugs.showFiling))
		admin.Post(views.PathFilings+"/{id}/retry", s.do(s.bugs.retryFiling))
		admin.Post(views.PathFilings+"/{id}/give-up", s.do(s.bugs.giveUpFiling))
	})
	return root, nil
}

// apiRoutes are the addresses below /api/1.0. Questions are answered without a session too; what creates something needs a
// session and its CSRF token, or an API token.
func (s *Server) apiRoutes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.config.TrustedProxies.Middleware, deadline(pageTime), s.byToken, s.limited, chimw.GetHead)
	r.NotFound(s.do(s.serveAPI))
	r.MethodNotAllowed(s.do(s.serveAPI)) // the table knows the methods
	r.Method(http.MethodPost, "/create-bug-report", s.createByAPI())
	r.Method(http.MethodPost, "/create-bug-report/", s.createByAPI())
	answer := s.ifNoToken(func(h http.Handler) http.Handler { return s.withSession(s.recognise(h)) }, s.do(s.serveAPI))
	r.Method(http.MethodGet, "/*", answer)
	r.Method(http.MethodPost, "/*", answer)
	return r
}

// notFound answers for addresses that are not in the table. One that is there without its trailing slash is redirected.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) error {
	trimmed := "/" + strings.Trim(r.URL.EscapedPath(), "/")
	if safeMethods[r.Method] && trimmed != r.URL.EscapedPath() && known(r, http.MethodGet, trimmed) {
		if r.URL.RawQuery != "" {
			trimmed += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, trimmed, http.StatusMovedPermanently)
		return nil
	}
	return errNoPage
}

// wrongMethod answers for addresses that are in the table for other methods.
func (s *Server) wrongMethod(w http.ResponseWriter, r *http.Request) error {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		lookup := method
		if method == http.MethodHead {
			lookup = http.MethodGet
		}
		if known(r, lookup, r.URL.EscapedPath()) {
			w.Header().Add("Allow", method)
		}
	}
	return &methodError{}
}

// known reports whether the table has a handler for a method and path.
func known(r *http.Request, method, path string) bool {
	return chi.RouteContext(r.Context()).Routes.Match(chi.NewRouteContext(), method, path)
}
