package trackertest

import "strings"

// authenticate returns the access token of a request. A request without a valid "OAuth " header is
// anonymous, which is not an error.
func (s *Server) authenticate(c *call) (*accessToken, *response) {
	header, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "OAuth ")
	if !ok {
		return nil, nil
	}
	params, ok := parseHeader(header)
	if !ok {
		r := text(500, "ValueError").with("X-Lazr-OopsId", "OOPS-practice-header")
		return nil, &r
	}
	consumer, key := params.Get("oauth_consumer_key"), params.Get("oauth_token")
	if consumer == "" || key == "" { // an empty token is anonymous, even for an unknown consumer
		return nil, nil
	}
	refuse := func(words string) (*accessToken, *response) {
		r := text(401, words).with("WWW-Authenticate", challenge)
		return nil, &r
	}
	if !s.state.knows(consumer) {
		return refuse("Unknown consumer (" + consumer + ").")
	}
	token := s.state.access(consumer, key)
	switch {
	case token == nil:
		return refuse("Unknown access token (" + key + ").")
	case token.Expired:
		return refuse("Expired token (" + key + ").")
	case token.Suspended:
		return refuse("Inactive account.")
	case params.Get("oauth_signature_method") != "PLAINTEXT",
		strings.TrimPrefix(params.Get("oauth_signature"), "&") != token.Secret,
		!strings.HasPrefix(params.Get("oauth_signature"), "&"):
		return refuse("Invalid signature.")
	case token.Level == "UNAUTHORIZED":
		return refuse("Unauthorized token (" + key + ").")
	}
	return token, nil
}
