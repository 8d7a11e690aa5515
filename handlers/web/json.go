package web

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"mishap/crash"
)

// ReadJSON returns the body of a request, whose size the middleware limits. It returns otherMedia if the
// request does not say that the body is JSON, unreadable if reading fails, and TooLarge.
func ReadJSON(r *http.Request, otherMedia, unreadable *crash.Error) ([]byte, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, otherMedia
	}
	body, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, ErrTooLarge
	}
	if err != nil {
		return nil, unreadable.Because(fmt.Errorf("read body: %w", err))
	}
	return body, nil
}
