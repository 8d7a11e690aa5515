package events

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/db/events"
	"mishap/handlers/web"
	"mishap/notify/webhook"
	view "mishap/views/events"
	"mishap/views/layout"
)

// SwitchNotifications returns a handler that stops all notifications, or ends a stop.
func (s *Pages) SwitchNotifications(stopped bool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.Events.SwitchNotifications(r.Context(), stopped, web.CurrentUser(r).Name); err != nil {
			return err
		}
		done := "Notifications are sent again."
		if stopped {
			done = "All notifications are stopped."
		}
		return s.web.Done(w, r, layout.PathRules, done)
	}
}

// TestEndpoint sends a test to an endpoint and shows the answer.
func (s *Pages) TestEndpoint(w http.ResponseWriter, r *http.Request) error {
	stop, err := s.Events.StopState(r.Context())
	if err != nil {
		return err
	}
	e, err := s.Events.EndpointWithSecrets(r.Context(), web.IDInPath(r))
	if err != nil {
		return err
	}
	if stop.Holds() {
		return crash.Errorf(crash.Conflict, "notifications_stopped", "%s", view.EndpointTestStopped)
	}
	person, began := web.CurrentUser(r).Name, time.Now()
	reply := s.Sender.Test(r.Context(), e, person)
	took := time.Since(began)
	outcome := crash.DeliveryOutcome{Status: reply.Status, Answer: reply.Answer, Problem: reply.Problem}
	if err := s.Events.EndpointTested(r.Context(), e, outcome, person); err != nil {
		return err
	}
	if e, err = s.Events.Endpoint(r.Context(), e.ID); err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusOK, view.EndpointPage{Endpoint: e, Test: &outcome, Took: took})
}

// RotateSecret makes a new secret and shows it once.
func (s *Pages) RotateSecret(w http.ResponseWriter, r *http.Request) error {
	secret := webhook.NewSecret()
	if err := s.Events.RotateSecret(r.Context(), web.IDInPath(r), secret, web.CurrentUser(r).Name); err != nil {
		return err
	}
	e, err := s.Events.Endpoint(r.Context(), web.IDInPath(r))
	if err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusOK, view.EndpointPage{Endpoint: e, Secret: string(secret)})
}

// SwitchEndpoint returns a handler that switches an endpoint on or off.
func (s *Pages) SwitchEndpoint(on bool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.Events.SwitchEndpoint(r.Context(), web.IDInPath(r), on, web.CurrentUser(r).Name); err != nil {
			return err
		}
		done := "Switched off. Deliveries wait, and new events are not delivered to it."
		if on {
			done = "Switched on. Deliveries that have been waiting are sent now."
		}
		return s.web.Done(w, r, view.EndpointPath(web.IDInPath(r), ""), done)
	}
}

// DeleteEndpoint deletes an endpoint with its deliveries.
func (s *Pages) DeleteEndpoint(w http.ResponseWriter, r *http.Request) error {
	e, err := s.Events.Endpoint(r.Context(), web.IDInPath(r))
	if err != nil {
		return err
	}
	if err := s.Events.DeleteEndpoint(r.Context(), e.ID, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathRules+"#endpoints", "“"+e.Name+"” was deleted.")
}

// The limits of new endpoints, in requests per minute. People read chats.
const (
	webhookPerMinute = 60
	chatPerMinute    = 20
)

// NewEndpoint shows the form for a new endpoint of the kind in the query.
func (s *Pages) NewEndpoint(w http.ResponseWriter, r *http.Request) error {
	kind, err := crash.ParseEndpointKind(r.URL.Query().Get("kind"))
	if err != nil {
		return err
	}
	form := view.EndpointForm{PerMinute: strconv.Itoa(chatPerMinute), Owner: web.CurrentUser(r).ID}
	if kind == crash.EndpointWebhook {
		form.PerMinute = strconv.Itoa(webhookPerMinute)
	}
	return s.sendNew(w, r, http.StatusOK, view.EndpointPage{Endpoint: crash.Endpoint{Kind: kind}, Form: form})
}

func (s *Pages) sendNew(w http.ResponseWriter, r *http.Request, status int, page view.EndpointPage) error {
	var err error
	if page.Form.Owners, err = s.owners(r); err != nil {
		return err
	}
	page.Shell = s.web.Shell(r, view.EndpointTitle(page.Endpoint.Kind))
	return s.web.Page(w, r, status, view.NewEndpoint(page))
}

// owners returns the accounts that can own an endpoint: those that see these pages.
func (s *Pages) owners(r *http.Request) ([]crash.User, error) {
	users, err := s.People.Accounts(r.Context())
	return slices.DeleteFunc(users, func(u crash.User) bool {
		return u.Disabled || !u.Role.Allows(crash.RoleAdmin)
	}), err
}

// AddEndpoint adds an endpoint. Of a webhook it shows the secret, once.
func (s *Pages) AddEndpoint(w http.ResponseWriter, r *http.Request) error {
	kind, err := crash.ParseEndpointKind(r.PostFormValue("kind"))
	if err != nil {
		return err
	}
	e, form, err := s.saveSettings(r, crash.Endpoint{Kind: kind})
	if err != nil {
		return err
	}
	if len(form.Wrong) > 0 {
		return s.sendNew(w, r, http.StatusUnprocessableEntity, view.EndpointPage{Endpoint: crash.Endpoint{Kind: kind},
			Form: form})
	}
	if kind != crash.EndpointWebhook {
		return s.web.Done(w, r, view.EndpointPath(e.ID, ""),
			"“"+e.Name+"” was added. Send a test to see whether it works.")
	}
	added, err := s.Events.Endpoint(r.Context(), e.ID)
	if err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusCreated, view.EndpointPage{Endpoint: added, Secret: string(e.Secret)})
}

// SaveEndpoint changes the settings of an endpoint.
func (s *Pages) SaveEndpoint(w http.ResponseWriter, r *http.Request) error {
	present, err := s.Events.Endpoint(r.Context(), web.IDInPath(r))
	if err != nil {
		return err
	}
	e, form, err := s.saveSettings(r, present)
	if err != nil {
		return err
	}
	if len(form.Wrong) > 0 {
		return s.sendEndpoint(w, r, http.StatusUnprocessableEntity, view.EndpointPage{Endpoint: present, Form: form})
	}
	return s.web.Done(w, r, view.EndpointPath(e.ID, ""), "Settings saved.")
}

// saveSettings stores an endpoint with the settings in a form, unless the form says what is wrong with them.
func (s *Pages) saveSettings(r *http.Request, e crash.Endpoint) (crash.Endpoint, view.EndpointForm, error) {
	field := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	owner, _ := strconv.ParseInt(field("owner"), 10, 64) // 0: all administrators
	form := view.EndpointForm{Name: field("name"), Address: field("address"), Channel: field("channel"),
		PerMinute: field("per_minute"), Owner: owner}
	e.Name, e.Address, e.Channel, e.Owner = form.Name, crash.Secret(form.Address), form.Channel, owner
	if e.Kind == crash.EndpointMatrix {
		form.Secret = field("secret")
		e.Secret = crash.Secret(form.Secret)
	}
	e.PerMinute, _ = strconv.Atoi(form.PerMinute) // 0 is refused
	form.Wrong = webhook.CheckSettings(&e, e.ID == 0)
	owners, err := s.owners(r)
	if err != nil {
		return e, form, err
	}
	if owner != 0 && !slices.ContainsFunc(owners, func(u crash.User) bool { return u.ID == owner }) {
		form.Wrong["owner"] = "Choose an administrator."
	}
	if len(form.Wrong) > 0 {
		return e, form, nil
	}
	if e.ID == 0 && e.Kind == crash.EndpointWebhook {
		e.Secret = webhook.NewSecret()
	}
	e.ID, err = s.Events.SaveEndpoint(r.Context(), e, web.CurrentUser(r).Name)
	if crash.KindOf(err) == crash.Conflict {
		form.Wrong["name"], err = web.AnswerTo(r, err).Message, nil
	}
	return e, form, err
}

// deliveriesSize is the number of deliveries on a page.
const deliveriesSize = 25

// ShowEndpoint shows an endpoint with its settings and a page of its deliveries.
func (s *Pages) ShowEndpoint(w http.ResponseWriter, r *http.Request) error {
	e, err := s.Events.Endpoint(r.Context(), web.IDInPath(r))
	if err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusOK, view.EndpointPage{Endpoint: e})
}

// sendEndpoint sends the page of an endpoint. It fills in the form, unless it has been refused, and
// adds the deliveries in the query of GET requests, else the newest ones.
func (s *Pages) sendEndpoint(w http.ResponseWriter, r *http.Request, status int, page view.EndpointPage) error {
	e := page.Endpoint
	if len(page.Form.Wrong) == 0 {
		page.Form = view.EndpointForm{Name: e.Name, Channel: e.Channel, PerMinute: strconv.Itoa(e.PerMinute), Owner: e.Owner}
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
		page.Next = view.NextDeliveries(filter.State, filter.Summary, page.Deliveries[deliveriesSize-1])
	}
	page.Shell = s.web.Shell(r, e.Name)
	return s.web.Page(w, r, status, view.Endpoint(page))
}

func readDeliveryFilter(q url.Values, f *events.DeliveryFilter) (err error) {
	if state := q.Get("state"); state != "" {
		if f.State, err = crash.ParseWord(state, crash.DeliveryStates, "state of deliveries"); err != nil {
			return err
		}
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
	var page view.DeliveryPage
	if page.Endpoint, err = s.Events.Endpoint(r.Context(), web.IDInPath(r)); err != nil {
		return err
	}
	if page.Delivery, page.Attempts, err = s.Events.Delivery(r.Context(), web.IDInPath(r), id); err != nil {
		return err
	}
	page.Type = webhook.EventType(page.Delivery.Event.Kind)
	page.Shell = s.web.Shell(r, page.Delivery.Event.Title)
	return s.web.Page(w, r, http.StatusOK, view.Delivery(page))
}

// SendAgain makes a delivery due at once.
func (s *Pages) SendAgain(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseDeliveryID(chi.URLParam(r, "delivery"))
	if err != nil {
		return err
	}
	if err := s.Events.SendAgain(r.Context(), web.IDInPath(r), id, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.web.Done(w, r, view.DeliveryPath(web.IDInPath(r), id, ""),
		"Sending it again. Reload this page to see the answer.")
}
