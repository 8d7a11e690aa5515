package handlers

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"github.com/klauspost/compress/gzhttp"

	"mishap/assets"
	"mishap/crash"
	"mishap/handlers/api"
	"mishap/views"
)

// pageTime is the longest that a page may take.
const pageTime = 30 * time.Second

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
	root.Get("/readyz", s.do(s.showReady))
	root.Method(http.MethodGet, assets.Prefix+"*", assets.Handler(s.config.AssetsDir))

	site := chi.NewRouter()
	site.Use(s.config.TrustedProxies.Middleware, deadline(pageTime), s.withSession, s.recognise, s.guard, s.exportsByToken, chimw.GetHead)
	site.NotFound(s.do(s.notFound))
	site.MethodNotAllowed(s.do(s.wrongMethod))
	root.Mount("/", site)
	root.Mount(strings.TrimSuffix(api.Prefix, "/"), s.apiRoutes())

	site.Group(func(public chi.Router) {
		public.Get(pathSignIn, s.do(s.showSignIn))
		public.Post(pathSignIn, s.do(s.signIn))
		public.Post("/logout", s.do(s.signOut))
		public.Get("/", s.do(s.cachePage(s.listQuery, s.listProblems)))
		public.Get("/api", s.do(s.showAPI))
		public.Get("/problems.{format}", s.do(s.exportFile))
		public.Get("/package/{name}", s.do(s.cachePage(noQuery, s.showPackage)))
		public.Get("/release/{name}", s.do(s.cachePage(noQuery, s.showRelease)))
		public.Get("/problem/{id}", s.do(s.cachePage(s.problemQuery, s.showProblem)))
		public.Get("/problem/{id}/bug", s.do(s.showBug))
		public.Get("/problem/{id}/versions.{format}", s.do(s.exportVersions))
		public.Get("/bug/{number}", s.do(s.redirectBug))
		public.Get(views.PathSearch, s.do(s.cachePage(s.searchQuery, s.search)))
		public.Get(views.PathSearch+".{format}", s.do(s.exportSearch))
		public.Get(views.PathComplete, s.do(s.completeSearch))
		public.Get(views.PathKeys, s.do(s.showKeys))
		public.Get("/bucket", s.do(s.redirectBucket))
		public.Get("/bucket/", s.do(s.redirectBucket))
	})
	site.Group(func(viewer chi.Router) {
		viewer.Use(s.need(crash.RoleViewer))
		viewer.Get("/problem/{id}/traits", s.do(s.showTraits))
		viewer.Post("/problem/{id}/notes", s.do(s.addNote))
		viewer.Post("/problem/{id}/notes/{note}", s.do(s.changeNote))
		viewer.Get("/oops/{id}", s.do(s.showReport))
		viewer.Get(pathAccount, s.do(s.showAccount))
		viewer.Post(pathAccount, s.do(s.saveAccount))
		viewer.Post(views.PathTokens, s.do(s.makeToken))
		viewer.Post(views.PathTokens+"/{id}/revoke", s.do(s.revokeToken))
		viewer.Get(views.PathMy, s.do(s.showMy))
		viewer.Get(views.PathMy+".{format}", s.do(s.exportMyFile))
		viewer.Post(views.PathFollow, s.do(s.follow))
		viewer.Post(views.PathUnfollow, s.do(s.unfollow))
		viewer.Post(views.PathSeen, s.do(s.saveSeen))
		viewer.Get("/problem/{id}.{format}", s.do(s.exportProblemReports))
		viewer.Get("/user/", s.do(s.showSystem))
		viewer.Get("/user/{system}", s.do(s.showSystem))
	})
	site.Group(func(triager chi.Router) {
		triager.Use(s.need(crash.RoleTriager))
		triager.Get(views.PathChosen, s.do(s.showChosen))
		triager.Post(views.PathChosen, s.do(s.changeChosen))
		triager.Get(views.PathLinkChosen, s.do(s.showLinkChosen))
		triager.Post(views.PathLinkChosen, s.do(s.linkChosen))
		triager.Post(views.PathUnlinkChosen, s.do(s.unlinkChosen))
		triager.Get("/problem/{id}/merge", s.do(s.findMerge))
		triager.Get(views.PathMerge, s.do(s.showMerge))
		triager.Post(views.PathMerge, s.do(s.mergeProblems))
		triager.Get("/problem/{id}/rename", s.do(s.showRename))
		triager.Post("/problem/{id}/rename", s.do(s.renameProblem))
		triager.Get("/problem/{id}/split", s.do(s.showSplit))
		triager.Post("/problem/{id}/split", s.do(s.splitProblem))
		triager.Post("/problem/{id}/undo", s.do(s.undoDecision))
		triager.Get("/problem/{id}/link", s.do(s.showLinkBug))
		triager.Post("/problem/{id}/link", s.do(s.linkBug))
		triager.Post("/problem/{id}/unlink", s.do(s.unlinkBug))
		triager.Post("/problem/{id}/relink", s.do(s.relinkBug))
		triager.Post("/problem/{id}/recheck", s.do(s.recheckBugs))
		triager.Get("/problem/{id}/review", s.do(s.showReview))
		triager.Post("/problem/{id}/review", s.do(s.reviewBug))
		triager.Get("/problem/{id}/review/bugs", s.do(s.showReviewBugs))
	})
	site.Group(func(admin chi.Router) {
		admin.Use(s.need(crash.RoleAdmin))
		admin.Get("/admin", s.do(s.showAdmin))
		admin.Get(pathTracker, s.do(s.showTracker))
		admin.Post(pathTracker+"/request-token", s.do(s.beginConnecting))
		admin.Post(pathTracker+"/access-token", s.do(s.finishConnecting))
		admin.Post(pathTracker+"/check", s.do(s.tryConnection))
		admin.Post(pathTracker+"/show-token", s.do(s.showToken))
		admin.Post(pathTracker+"/forget", s.do(s.forgetToken))
		admin.Post(pathTracker+"/comments", s.do(s.switchComments))
		admin.Get(views.PathTemplates, s.do(s.showTemplates))
		admin.Post(views.PathTemplates, s.do(s.changeTemplate))
		admin.Get(views.PathRegroup, s.do(s.showRegroup))
		admin.Post(views.PathRegroup, s.do(s.tryRegroup))
		admin.Post(views.PathRegroup+"/apply", s.do(s.applyRegroup))
		admin.Post(views.PathRegroup+"/stop", s.do(s.stopRegroup))
		admin.Get(views.PathFilings, s.do(s.listFilings))
		admin.Get(views.PathFilings+".{format}", s.do(s.exportFilings))
		admin.Get(views.PathFilings+"/{id}", s.do(s.showFiling))
		admin.Post(views.PathFilings+"/{id}/retry", s.do(s.retryFiling))
		admin.Post(views.PathFilings+"/{id}/give-up", s.do(s.giveUpFiling))
	})
	return root, nil
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
