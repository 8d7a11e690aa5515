package endpoints

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/db/events"
	"mishap/handlers/web"
	"mishap/notify/webhook"
	"mishap/views"
)

// deliveriesSize is the number of deliveries on a page.
const deliveriesSize = 25

// ShowEndpoint shows an endpoint with its settings and a page of its deliveries.
func (s *Pages) ShowEndpoint(w http.ResponseWriter, r *http.Request) error {
	e, err := s.Events.Endpoint(r.Context(), endpointID(r))
	if err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusOK, views.EndpointPage{Endpoint: e})
}

// sendEndpoint sends the page of an endpoint. It fills in the form, unless it has been refused, and
// adds the deliveries in the query of GET requests, else the newest ones.
func (s *Pages) sendEndpoint(w http.ResponseWriter, r *http.Request, status int, page views.EndpointPage) error {
	e := page.Endpoint
	if len(page.Form.Wrong) == 0 {
		page.Form = views.EndpointForm{Name: e.Name, Channel: e.Channel, PerMinute: strconv.Itoa(e.PerMinute), Owner: e.Owner}
	}
	filter := events.DeliveryFilter{Endpoint: e.ID, Limit: deliveriesSize + 1}
	if r.Method == http.MethodGet {
		if err := readDeliveryFilter(r.URL.Query(), &filter); err != nil {
			return err
		}
	}
	page.State, page.Summary, page.First = filter.State, filter.Summary, filter.Before.IsZero()
	var err error
	if page.Form.Owners, err = s.owners(r); err != nil {
		return err
	}
	if page.Stop, err = s.Events.StopState(r.Context()); err != nil {
		return err
	}
	if page.States, err = s.Events.DeliveryStates(r.Context(), e.ID); err != nil {
		return err
	}
	if page.Deliveries, err = s.Events.Deliveries(r.Context(), filter); err != nil {
		return err
	}
	if len(page.Deliveries) > deliveriesSize {
		page.Deliveries = page.Deliveries[:deliveriesSize]
		page.Next = views.NextDeliveries(filter.State, filter.Summary, page.Deliveries[deliveriesSize-1])
	}
	page.Shell = s.Shell(r, e.Name)
	return s.Page(w, r, status, views.Endpoint(page))
}

// readDeliveryFilter reads which deliveries a query asks for.
func readDeliveryFilter(q url.Values, f *events.DeliveryFilter) (err error) {
	if state := crash.DeliveryState(q.Get("state")); state != "" {
		if !crash.IsDeliveryState(state) {
			return crash.Errorf(crash.Invalid, "unknown_state", "%.40q is not the state of a delivery.", state)
		}
		f.State = state
	}
	if summary := q.Get("summary"); summary != "" {
		if f.Summary, err = crash.ParseDeliveryID(summary); err != nil {
			return err
		}
	}
	if after := q.Get("after"); after != "" {
		micros, id, _ := strings.Cut(after, ".")
		at, err := strconv.ParseInt(micros, 10, 64)
		if err != nil || at < 0 || at > maxMicros {
			return web.ErrBadCursor
		}
		if f.BeforeID, err = crash.ParseDeliveryID(id); err != nil {
			return web.ErrBadCursor
		}
		f.Before = time.UnixMicro(at)
	}
	return nil
}

// maxMicros is a time in microseconds since 1970 that PostgreSQL can still store.
const maxMicros = 1 << 57

// ShowDelivery shows a delivery with its payload and attempts.
func (s *Pages) ShowDelivery(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseDeliveryID(chi.URLParam(r, "delivery"))
	if err != nil {
		return err
	}
	var page views.DeliveryPage
	if page.Endpoint, err = s.Events.Endpoint(r.Context(), endpointID(r)); err != nil {
		return err
	}
	if page.Delivery, page.Attempts, err = s.Events.Delivery(r.Context(), endpointID(r), id); err != nil {
		return err
	}
	page.Type = webhook.EventType(page.Delivery.Event.Kind)
	page.Shell = s.Shell(r, page.Delivery.Event.Title)
	return s.Page(w, r, http.StatusOK, views.Delivery(page))
}

// SendAgain makes a delivery due at once.
func (s *Pages) SendAgain(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseDeliveryID(chi.URLParam(r, "delivery"))
	if err != nil {
		return err
	}
	if err := s.Events.SendAgain(r.Context(), endpointID(r), id, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.redirect(w, r,
		"It is sent again now. Reload this page to see the answer.", views.DeliveryPath(endpointID(r), id, ""))
}
