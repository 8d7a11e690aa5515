package handlers

import (
	"net/http"
	"strings"

	"mishap/handlers/api"
	"mishap/views/layout"
)

// showAPI shows the reference of the API, generated from the descriptions of its resources.
func (s *Server) showAPI(w http.ResponseWriter, r *http.Request) error {
	page := layout.APIPage{
		Shell: s.web.Shell(r, "API"), Address: s.web.Base.String() + api.Prefix, PerMinute: s.web.Config.APIRatePerAddress,
	}
	for _, d := range s.api.Describe() {
		res := layout.APIResource{
			Name: d.Name, Method: d.Method, Path: d.Path, Access: d.Access, Scope: d.Scope,
			Summary: d.Summary, Doc: d.Doc, Example: d.Example,
		}
		for _, p := range d.Params {
			res.Params = append(res.Params, layout.APIParam{
				Name: p.Name, Kind: strings.ReplaceAll(p.Kind, "_", " "), Doc: p.Doc, Example: p.Example,
				Default: p.Default, Required: p.Required,
			})
		}
		for _, f := range d.Fields {
			res.Fields = append(res.Fields, layout.APIField(f))
		}
		page.Resources = append(page.Resources, res)
	}
	return s.web.Page(w, r, http.StatusOK, layout.API(page))
}
