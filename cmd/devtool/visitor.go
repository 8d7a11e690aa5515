package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// visitor is a browser with cookies. It does not follow redirects.
type visitor struct {
	url    string
	client *http.Client
}

func newVisitor(address string) *visitor {
	jar, _ := cookiejar.New(nil) // fails only for options
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &visitor{address, &http.Client{Jar: jar, CheckRedirect: stay}}
}

// fetch requests a path, or posts a form if there is one, and returns the body of the answer.
func (v *visitor) fetch(ctx context.Context, path string, header http.Header, form url.Values) ([]byte, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
		header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Referer": {v.url + path}}
	}
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	resp, err := v.client.Do(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: got status %d", path, resp.StatusCode)
	}
	return answer, err
}

var csrfField = regexp.MustCompile(`name="csrf_token" value="([^"]+)"`)

// signIn signs in with the form.
func (v *visitor) signIn(ctx context.Context, password string) error {
	page, err := v.fetch(ctx, "/login", nil, nil)
	if err != nil {
		return err
	}
	field := csrfField.FindSubmatch(page)
	if field == nil {
		return errors.New("the sign-in form contains no token")
	}
	form := url.Values{"csrf_token": {string(field[1])}, "username": {demoAccount}, "password": {password}}
	_, err = v.fetch(ctx, "/login", nil, form)
	return err
}
