package endpoints

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/notify/webhook"
	"mishap/views"
)

// The limits of new endpoints, in requests per minute. People read chats.
const (
	webhookPerMinute = 60
	chatPerMinute    = 20
)

func newSecret() crash.Secret { return webhook.NewSecret() }

// NewEndpoint shows the form for a new endpoint of the kind in the query.
func (s *Pages) NewEndpoint(w http.ResponseWriter, r *http.Request) error {
	kind, err := crash.ParseEndpointKind(r.URL.Query().Get("kind"))
	if err != nil {
		return err
	}
	form := views.EndpointForm{PerMinute: strconv.Itoa(chatPerMinute), Owner: web.CurrentUser(r).ID}
	if kind == crash.EndpointWebhook {
		form.PerMinute = strconv.Itoa(webhookPerMinute)
	}
	return s.sendNew(w, r, http.StatusOK, views.EndpointPage{Endpoint: crash.Endpoint{Kind: kind}, Form: form})
}

func (s *Pages) sendNew(w http.ResponseWriter, r *http.Request, status int, page views.EndpointPage) error {
	var err error
	if page.Form.Owners, err = s.owners(r); err != nil {
		return err
	}
	page.Shell = s.Shell(r, views.EndpointTitle(views.EndpointWord(page.Endpoint.Kind)))
	return s.Page(w, r, status, views.NewEndpoint(page))
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
	e, form, err := s.readSettings(r, crash.Endpoint{Kind: kind})
	if err != nil {
		return err
	}
	if kind == crash.EndpointWebhook {
		e.Secret = newSecret()
	}
	if len(form.Wrong) == 0 {
		e.ID, err = s.Events.AddEndpoint(r.Context(), e, web.CurrentUser(r).Name)
		if crash.KindOf(err) == crash.Conflict {
			form.Wrong["name"] = web.AnswerTo(r, err).Message
		} else if err != nil {
			return err
		}
	}
	if len(form.Wrong) > 0 {
		return s.sendNew(w, r, http.StatusUnprocessableEntity, views.EndpointPage{Endpoint: crash.Endpoint{Kind: kind},
			Form: form})
	}
	if kind != crash.EndpointWebhook {
		return s.redirect(w, r, "“"+e.Name+"” was added. Send a test to see whether it works.", views.EndpointPath(e.ID, ""))
	}
	added, err := s.Events.Endpoint(r.Context(), e.ID)
	if err != nil {
		return err
	}
	return s.sendEndpoint(w, r, http.StatusCreated, views.EndpointPage{Endpoint: added, Secret: string(e.Secret)})
}

// SaveEndpoint changes the settings of an endpoint.
func (s *Pages) SaveEndpoint(w http.ResponseWriter, r *http.Request) error {
	present, err := s.Events.Endpoint(r.Context(), endpointID(r))
	if err != nil {
		return err
	}
	e, form, err := s.readSettings(r, present)
	if err != nil {
		return err
	}
	if len(form.Wrong) == 0 {
		err = s.Events.SaveEndpoint(r.Context(), e, web.CurrentUser(r).Name)
		if crash.KindOf(err) == crash.Conflict {
			form.Wrong["name"] = web.AnswerTo(r, err).Message
		} else if err != nil {
			return err
		}
	}
	if len(form.Wrong) > 0 {
		return s.sendEndpoint(w, r, http.StatusUnprocessableEntity, views.EndpointPage{Endpoint: present, Form: form})
	}
	return s.redirect(w, r, "Settings saved.", views.EndpointPath(e.ID, ""))
}

// readSettings reads the settings in a form and returns them with what is wrong.
func (s *Pages) readSettings(r *http.Request, e crash.Endpoint) (crash.Endpoint, views.EndpointForm, error) {
	field := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	owner, _ := strconv.ParseInt(field("owner"), 10, 64) // 0: all administrators
	form := views.EndpointForm{Name: field("name"), Address: field("address"), Channel: field("channel"),
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
	return e, form, nil
}
