// Package endpoints serves the pages about endpoints, to which mishap sends events: their settings,
// their deliveries, and the switch that stops all notifications. It is for administrators.
package endpoints

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// Pages serves the pages about endpoints.
type Pages struct{ *web.Kit }

// New returns the handlers of this package.
func New(kit *web.Kit) *Pages { return &Pages{kit} }

// ListEndpoints shows all endpoints.
func (s *Pages) ListEndpoints(w http.ResponseWriter, r *http.Request) error {
	page := views.EndpointsPage{}
	var err error
	if page.Stop, err = s.Events.StopState(r.Context()); err != nil {
		return err
	}
	if page.Endpoints, err = s.Events.Endpoints(r.Context()); err != nil {
		return err
	}
	page.Shell = s.Shell(r, "Notifications")
	return s.Page(w, r, http.StatusOK, views.Endpoints(page))
}

// StopNotifications stops all notifications.
func (s *Pages) StopNotifications(w http.ResponseWriter, r *http.Request) error {
	if err := s.Events.Stop(r.Context(), web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.redirect(w, r, "All notifications are stopped.", views.PathEndpoints)
}

// ResumeNotifications ends a stop.
func (s *Pages) ResumeNotifications(w http.ResponseWriter, r *http.Request) error {
	if err := s.Events.Resume(r.Context(), web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.redirect(w, r, "Notifications are sent again.", views.PathEndpoints)
}

// redirect redirects with a message.
func (s *Pages) redirect(w http.ResponseWriter, r *http.Request, message, path string) error {
	if err := s.Flash(r, views.FlashDone, message); err != nil {
		return err
	}
	return web.Redirect(w, r, path)
}

// endpointID returns the number in the path, or 0, which no endpoint has.
func endpointID(r *http.Request) int64 {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// TestEndpoint sends a test to an endpoint and shows the answer.
func (s *Pages) TestEndpoint(w http.ResponseWriter, r *http.Request) error {
	stop, err := s.Events.StopState(r.Context())
	if err != nil {
		return err
	}
	e, err := s.Events.EndpointWithSecrets(r.Context(), endpointID(r))
	if err != nil {
		return err
	}
	if stop.Holds() {
		return crash.Errorf(crash.Conflict, "notifications_stopped", "%s", views.EndpointTestStopped)
	}
	person := web.CurrentUser(r).Name
	reply := s.Sender.Test(r.Context(), e, person)
	outcome := crash.DeliveryOutcome{Status: reply.Status, Answer: reply.Answer, Problem: reply.Problem}
	if err := s.Events.EndpointTested(r.Context(), e, outcome, person); err != nil {
		return err
	}
	if e, err = s.Events.Endpoint(r.Context(), e.ID); err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusOK, views.EndpointPage{Endpoint: e, Test: &views.EndpointTest{
		Status: reply.Status, Problem: reply.Problem, Answer: reply.Answer, Took: reply.Took,
	}})
}

// RotateSecret makes a new secret and shows it once.
func (s *Pages) RotateSecret(w http.ResponseWriter, r *http.Request) error {
	secret := newSecret()
	if err := s.Events.RotateSecret(r.Context(), endpointID(r), secret, web.CurrentUser(r).Name); err != nil {
		return err
	}
	e, err := s.Events.Endpoint(r.Context(), endpointID(r))
	if err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusOK, views.EndpointPage{Endpoint: e, Secret: string(secret)})
}

// EnableEndpoint switches an endpoint on.
func (s *Pages) EnableEndpoint(w http.ResponseWriter, r *http.Request) error {
	if err := s.Events.EnableEndpoint(r.Context(), endpointID(r), web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.redirect(w, r,
		"Switched on. Deliveries that have been waiting are sent now.", views.EndpointPath(endpointID(r), ""))
}

// DisableEndpoint switches an endpoint off.
func (s *Pages) DisableEndpoint(w http.ResponseWriter, r *http.Request) error {
	if err := s.Events.DisableEndpoint(r.Context(), endpointID(r), web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.redirect(w, r,
		"Switched off. Deliveries wait, and new events are not delivered to it.", views.EndpointPath(endpointID(r), ""))
}

// DeleteEndpoint deletes an endpoint with its deliveries.
func (s *Pages) DeleteEndpoint(w http.ResponseWriter, r *http.Request) error {
	e, err := s.Events.Endpoint(r.Context(), endpointID(r))
	if err != nil {
		return err
	}
	if err := s.Events.DeleteEndpoint(r.Context(), e.ID, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.redirect(w, r, "“"+e.Name+"” was deleted.", views.PathEndpoints)
}
