package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mishap/crash"
)

// Errors of endpoints whose secrets cannot be decrypted.
var (
	errNoAddress = errors.New("the address cannot be decrypted, because the password of the database has changed; " +
		"enter it again")
	errNoSecret = errors.New("the secret cannot be decrypted, because the password of the database has changed; " +
		"set a new one")
)

// request returns the request for one attempt of a delivery.
func (c *Client) request(
	ctx context.Context, to crash.Endpoint, id crash.DeliveryID, resent int, payload string,
) (*http.Request, error) {
	switch {
	case to.Address == "":
		return nil, errNoAddress
	case to.Secret == "" && (to.Kind == crash.EndpointWebhook || to.Kind == crash.EndpointMatrix):
		return nil, errNoSecret
	}
	method, address := http.MethodPost, string(to.Address)
	if to.Kind == crash.EndpointMatrix {
		// The homeserver accepts each transaction once. A person who sends a message again wants a second one.
		transaction := string(id)
		if resent > 0 {
			transaction += "-" + strconv.Itoa(resent)
		}
		method = http.MethodPut
		address = strings.TrimRight(address, "/") + "/_matrix/client/v3/rooms/" + url.PathEscape(to.Channel) +
			"/send/m.room.message/" + transaction
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(payload))
	if err != nil {
		return nil, errors.New("the address is not valid; enter it again")
	}
	req.Header.Set("Content-Type", "application/json")
	switch to.Kind {
	case crash.EndpointSlack, crash.EndpointMattermost: // the address is the secret
	case crash.EndpointWebhook:
		now := c.config.Now()
		signatures, err := sign(to, id, now, payload)
		if err != nil {
			return nil, err
		}
		req.Header.Set(standardwebhooks.HeaderWebhookID, string(id))
		req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
		req.Header.Set(standardwebhooks.HeaderWebhookSignature, signatures)
	case crash.EndpointMatrix:
		req.Header.Set("Authorization", "Bearer "+string(to.Secret))
	}
	return req, nil
}

// sign returns the signatures of a webhook: with its secret and, for some time after a rotation, with
// the previous one.
func sign(to crash.Endpoint, id crash.DeliveryID, now time.Time, payload string) (string, error) {
	secrets := []crash.Secret{to.Secret}
	if to.Previous != "" && now.Before(to.PreviousUntil) {
		secrets = append(secrets, to.Previous)
	}
	var signatures []string
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(string(secret))
		if err != nil {
			return "", errors.New("the secret is not valid; rotate it")
		}
		signature, err := signer.Sign(string(id), now, []byte(payload))
		if err != nil {
			return "", fmt.Errorf("sign: %w", err)
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}

// NewSecret returns a new secret of a webhook, of 32 random bytes.
func NewSecret() crash.Secret {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	return crash.Secret("whsec_" + base64.StdEncoding.EncodeToString(random))
}

// retryAfter returns the delay that an answer asks for, by its header or as Matrix does, or 0. It is at
// most maxRetryAfter.
func (c *Client) retryAfter(header string, answer []byte) time.Duration {
	var delay time.Duration
	var matrix struct {
		Milliseconds int64 `json:"retry_after_ms"`
	}
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		delay = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		delay = at.Sub(c.config.Now())
	} else if json.Unmarshal(answer, &matrix) == nil {
		delay = time.Duration(min(matrix.Milliseconds, maxRetryAfter.Milliseconds())) * time.Millisecond
	}
	return min(max(delay, 0), maxRetryAfter)
}
