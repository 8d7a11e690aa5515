package web

import (
	"net/http"
	"strings"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
)

// ProxyConfig configures signing in by a header that a reverse proxy sets.
type ProxyConfig struct {
	Header       string           // that names the person; empty: off
	GroupsHeader string           // that lists the groups of the person, separated by commas; empty: none
	Peers        proxies.Networks // of the proxies that are believed
}

// sessionProxy is the session value of a person whom a proxy has identified: the name and the groups of
// the headers.
const sessionProxy = "proxy"

// signInByProxy signs in the person whom a trusted proxy names. It ends the session of another person,
// and starts a new one whenever the person or the groups change. Sessions that began with a password or
// at another site stay as they are. Only the address of the TCP peer decides whether the header counts,
// because everything else in a request can be forged.
func (s *Kit) signInByProxy(r *http.Request) error {
	c := s.Config.Proxy
	if c.Header == "" {
		return nil
	}
	if !c.Peers.ContainsPeer(r) {
		if r.Header.Values(c.Header) != nil || c.GroupsHeader != "" && r.Header.Values(c.GroupsHeader) != nil {
			s.Log.WarnContext(r.Context(), "dropped a header that signs people in, because it did not come from proxy_auth_from",
				"request_id", RequestID(r), "peer", r.RemoteAddr)
			r.Header.Del(c.Header)
			r.Header.Del(c.GroupsHeader)
		}
		return s.endProxySession(r)
	}
	names := r.Header.Values(c.Header)
	if len(names) == 0 || len(names) == 1 && strings.TrimSpace(names[0]) == "" {
		return s.endProxySession(r)
	}
	var groups []string
	if c.GroupsHeader != "" {
		groups = r.Header.Values(c.GroupsHeader)
	}
	if len(names) > 1 || len(groups) > 1 {
		return crash.Errorf(crash.Invalid, "doubled_proxy_header",
			"The proxy in front of this site sent the header that names you more than once, so nobody was signed in. "+
				"(Administrators: the proxy has to replace these headers of browsers, not to add its own.)")
	}
	in := crash.Identity{Source: crash.SourceProxy, Subject: strings.TrimSpace(names[0])}
	in.Name = in.Subject
	for group := range strings.SplitSeq(strings.Join(groups, ""), ",") {
		if group = strings.TrimSpace(group); group != "" {
			in.Groups = append(in.Groups, group)
		}
	}
	return s.continueProxySession(r, in)
}

// continueProxySession makes the session that of the person whom the proxy names, unless it is so. It
// stores the groups again when they get old.
func (s *Kit) continueProxySession(r *http.Request, in crash.Identity) error {
	ctx := r.Context()
	state := in.Subject + "\n" + strings.Join(in.Groups, ",")
	current := s.Sessions.GetString(ctx, sessionProxy)
	if current == state && s.began(r) <= GroupsDue ||
		current == "" && s.Sessions.GetString(ctx, people.SessionUser) != "" {
		return nil
	}
	signed, err := s.people.SignInIdentity(ctx, in)
	if err != nil {
		if ended := s.endProxySession(r); ended != nil {
			return ended
		}
		return err
	}
	if current == state {
		s.begins(r)
		return nil
	}
	if err := s.BeginSession(r, SessionOwner{User: signed.UserID, Identity: signed.IdentityID}); err != nil {
		return err
	}
	s.Sessions.Put(ctx, sessionProxy, state)
	return nil
}

// endProxySession ends the session if a proxy has signed the person in.
func (s *Kit) endProxySession(r *http.Request) error {
	if s.Sessions.GetString(r.Context(), sessionProxy) == "" {
		return nil
	}
	return s.Sessions.Destroy(r.Context())
}
