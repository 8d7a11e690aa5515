// Package proxies finds out which client sent a request when reverse proxies may be in between. It
// believes a proxy's statement about the client only if the proxy is on a trusted network, because
// anyone can send the same headers.
package proxies

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"mishap/crash"
)

// Networks lists the networks of trusted proxies. If it is empty, no proxy is trusted, and the
// client is the peer.
type Networks []netip.Prefix

// Loopback lists the networks of this machine, for proxies on it.
const Loopback = "127.0.0.0/8 ::1/128"

// Parse parses networks as [crash.ParseNetworks] does. It refuses the whole internet.
func Parse(text string) (Networks, error) {
	list, err := crash.ParseNetworks(text)
	for _, network := range list {
		if network.Bits() == 0 {
			return nil, fmt.Errorf("%q is the whole internet: every client could claim to be another", network)
		}
	}
	return list, err
}

// Middleware finds the address of the client, for Client.
func (n Networks) Middleware(next http.Handler) http.Handler {
	if len(n) == 0 {
		return middleware.ClientIPFromRemoteAddr(next)
	}
	texts := make([]string, len(n))
	for i, network := range n {
		texts[i] = network.String()
	}
	return middleware.ClientIPFromXFF(texts...)(next)
}

// Client returns the address of the client according to trusted proxies, else that of the peer. It
// is invalid if neither can be parsed. The request must have passed the middleware.
func Client(r *http.Request) netip.Addr {
	if ip := middleware.GetClientIPAddr(r.Context()); ip.IsValid() {
		return ip.Unmap().WithZone("")
	}
	return peer(r)
}

func peer(r *http.Request) netip.Addr {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap().WithZone("")
}

// Secure reports whether the client uses https: to this server, or to a trusted proxy that says so.
func (n Networks) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	return n.ContainsPeer(r) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// ContainsPeer reports whether the TCP peer of a request is in one of the networks, whatever its headers
// say.
func (n Networks) ContainsPeer(r *http.Request) bool {
	address := peer(r)
	return slices.ContainsFunc(n, func(network netip.Prefix) bool { return network.Contains(address) })
}

// Share gives a request the share that one of several instances has in a limit of requests. Proxies distribute
// the requests of each client evenly among the instances.
func Share(r *http.Request, limit, instances int) *http.Request {
	if instances < 2 {
		return r
	}
	return r.WithContext(httprate.WithRequestLimit(r.Context(), max(1, limit/instances)))
}

// Key returns the key of the client for rate limits: its address or, for IPv6, its network (/64),
// because a client can choose the other half. It is empty if the address is unknown.
func Key(address netip.Addr) string {
	if !address.Is6() {
		if !address.IsValid() {
			return ""
		}
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}
