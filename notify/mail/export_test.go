package mail

import "crypto/x509"

// Trust sets the authorities that sign certificates of relays.
func (r *Relay) Trust(roots *x509.CertPool) { r.roots = roots }

// MakeRemote treats a relay on this machine as one on another machine.
func (r *Relay) MakeRemote() { r.local = false }

// Clean returns a text of an event as mails have it.
func Clean(s string) string { return clean(s) }
