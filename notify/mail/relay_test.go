package mail_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/people"
	mishapmail "mishap/notify/mail"
	"mishap/notify/mail/mailtest"
)

// certificate returns a certificate that signs itself, and the authorities that accept it.
func certificate(t *testing.T, change func(*x509.Certificate)) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	checktest.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: time.Now().Add(48 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	checktest.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	checktest.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, roots
}

const relayUser, relayPassword = "ada", "hush hush"

// TestEncryptionAndPasswords checks which relays get a mail over which connection, that no password
// travels in clear text to another machine, and what the person who presses Test reads.
func TestEncryptionAndPasswords(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	good, trusted := certificate(t, nil)
	other, trustedOther := certificate(t, func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = nil, []string{"mail.example.net"}
	})
	old, trustedOld := certificate(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-24 * time.Hour) })
	stranger, _ := certificate(t, nil)
	all := []string{"PLAIN", "LOGIN", "CRAM-MD5"}
	const accepted = "Ok"
	for name, tt := range map[string]struct {
		server   mailtest.Options
		mode     string
		password string         // empty: no user
		trust    *x509.CertPool // nil: trusted
		remote   bool           // as if on another machine
		scheme   string         // empty: that of the server
		want     string
		clear    bool // the password may travel in clear text
	}{
		"implicit": {server: mailtest.Options{TLS: good, Implicit: true}, mode: "require", want: accepted},
		"implicit, other name": {server: mailtest.Options{TLS: other, Implicit: true}, mode: "require", trust: trustedOther,
			want: "Put a name of the certificate into smtp_url."},
		"implicit, expired": {server: mailtest.Options{TLS: old, Implicit: true}, mode: "require", trust: trustedOld,
			want: "The certificate is not valid at this time."},
		"implicit, unknown": {server: mailtest.Options{TLS: stranger, Implicit: true}, mode: "require",
			want: "No authority that this machine trusts"},
		"implicit, opportunism": {server: mailtest.Options{TLS: stranger, Implicit: true}, mode: "opportunistic",
			want: "No authority that this machine trusts"},
		"implicit to plain": {mode: "require", scheme: "smtps", password: relayPassword, want: "Use smtp:// instead " +
			"of smtps://"},
		"starttls": {server: mailtest.Options{TLS: good}, mode: "require", want: accepted},
		"starttls, other name": {server: mailtest.Options{TLS: other}, mode: "require", trust: trustedOther,
			want: "Put a name of the certificate"},
		"starttls, expired": {server: mailtest.Options{TLS: old}, mode: "require", trust: trustedOld,
			want: "certificate is not valid at this time"},
		"starttls, unknown": {server: mailtest.Options{TLS: stranger}, mode: "require", want: "No authority that this " +
			"machine trusts"},
		"starttls may, unknown": {server: mailtest.Options{TLS: stranger}, mode: "opportunistic", want: "No authority that " +
			"this machine trusts"},
		"starttls stripped": {server: mailtest.Options{Mechanisms: all}, mode: "require", password: relayPassword,
			remote: true,
			want:   "the relay does not offer STARTTLS, so nothing was sent"},
		"starttls stripped, here": {server: mailtest.Options{Mechanisms: all}, mode: "require", password: relayPassword,
			want: "the relay does not offer STARTTLS, so nothing was sent"},
		"starttls may, stripped": {server: mailtest.Options{Mechanisms: []string{"PLAIN", "LOGIN"}}, mode: "opportunistic",
			remote: true, password: relayPassword,
			want: "no way of signing in that is safe on this connection, so the password was not sent"},
		"starttls may, stripped, CRAM": {server: mailtest.Options{Mechanisms: all}, mode: "opportunistic", remote: true,
			password: relayPassword,
			want:     accepted},
		"starttls may, none": {mode: "opportunistic", remote: true, want: accepted},
		"no sign-in offered": {server: mailtest.Options{TLS: good}, mode: "require", password: relayPassword,
			want: "Remove the user from smtp_url"},
		"password missing": {server: mailtest.Options{TLS: good, Mechanisms: all}, mode: "require",
			want: "502 5.7.0 Please authenticate first"},
		"here, off, PLAIN": {server: mailtest.Options{Mechanisms: []string{"PLAIN"}}, mode: "off", password: relayPassword,
			want: accepted, clear: true},
		"here, off, LOGIN": {server: mailtest.Options{Mechanisms: []string{"LOGIN"}}, mode: "off", password: relayPassword,
			want: accepted, clear: true},
		"here, off, CRAM-MD5": {server: mailtest.Options{Mechanisms: []string{"CRAM-MD5"}}, mode: "off",
			password: relayPassword, want: accepted},
		"here, off, wrong": {server: mailtest.Options{Mechanisms: []string{"LOGIN"}}, mode: "off", password: "wrong",
			want: "rejects the user or the password of smtp_url", clear: true},
		"here, may, PLAIN": {server: mailtest.Options{Mechanisms: []string{"PLAIN"}}, mode: "opportunistic",
			password: relayPassword, want: accepted, clear: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRelay(t, p, tt.server, tt.scheme, tt.mode, tt.password, func(r *mishapmail.Relay) {
				r.Trust(tt.trust)
				if tt.trust == nil {
					r.Trust(trusted)
				}
				if tt.remote {
					r.MakeRemote()
				}
			}, tt.want, tt.clear)
		})
	}
	for _, mechanism := range all {
		for _, implicit := range []bool{false, true} {
			for password, want := range map[string]string{relayPassword: accepted,
				"wrong": "535 5.7.8 Authentication failed. The relay rejects the user or the password of smtp_url."} {
				t.Run(mechanism+" "+want, func(t *testing.T) {
					t.Parallel()
					checkRelay(t, p, mailtest.Options{TLS: good, Implicit: implicit, Mechanisms: []string{mechanism}}, "", "require",
						password, func(r *mishapmail.Relay) {
							r.Trust(trusted)
							r.MakeRemote()
						}, want, false)
				})
			}
		}
	}
}

// checkRelay sends a test mail to a server and checks the outcome.
func checkRelay(t *testing.T, p *post, o mailtest.Options, scheme, mode, password string,
	change func(*mishapmail.Relay), want string, plain bool) {
	t.Helper()
	o.User, o.Password = relayUser, relayPassword
	server := mailtest.Start(t, o)
	own, address, _ := strings.Cut(server.URL, "://")
	if scheme == "" {
		scheme = own
	}
	if password != "" {
		address = relayUser + ":" + strings.ReplaceAll(password, " ", "%20") + "@" + address
	}
	relay, err := mishapmail.ParseRelay(scheme+"://"+address, mode)
	checktest.NoError(t, err)
	change(relay)
	m, err := mishapmail.New(mishapmail.Config{Relay: relay, From: "crashes@example.org", BaseURL: base,
		Log: dbtest.Log(t),
		Now: time.Now, Registerer: prometheus.NewRegistry()}, p.store)
	checktest.NoError(t, err)
	name := rand.Text() // one person may send only some tests
	dbtest.AddUser(t, p.store.Store, name, crash.RoleAdmin, "correct horse battery")
	user, err := people.New(p.store.Store).ByName(t.Context(), name)
	checktest.NoError(t, err)
	got, err := m.Test(t.Context(), user.ID, "ada@example.org")
	checktest.NoError(t, err)
	t.Logf("the person reads: %s", got.Reply)
	success := want == "Ok"
	if (got.State == crash.MailSent) != success || success && len(server.Mails()) != 1 ||
		!success && (len(server.Mails()) != 0 || !strings.Contains(got.Reply, want)) {
		t.Errorf("got %+v and %d mails, want %q", got, len(server.Mails()), want)
	}
	sent := server.Received()
	if password != "" && strings.Contains(got.Reply, password) {
		t.Errorf("the reply contains the password: %s", got.Reply)
	}
	for _, form := range []string{password, base64.StdEncoding.EncodeToString([]byte(password)),
		base64.StdEncoding.EncodeToString([]byte("\x00" + relayUser + "\x00" + password))} {
		if password != "" && !plain && strings.Contains(sent, form) {
			t.Errorf("the password travelled in plain text: %q", sent)
		}
	}
	if plain && !strings.Contains(sent, "AUTH ") {
		t.Errorf("got %q, want that the client signs in without encryption", sent)
	}
	if o.TLS != nil && strings.Contains(sent, "MAIL FROM") {
		t.Errorf("the mail travelled in plain text: %q", sent)
	}
}
