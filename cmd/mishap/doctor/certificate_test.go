package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCertificates(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	ca := newCA(t)
	for _, c := range []struct {
		name   string
		host   string
		left   time.Duration
		ca     *authority
		status Status
		text   string
	}{
		{"valid", "127.0.0.1", 60 * day, ca, OK, "is valid until"},
		{"expires soon", "127.0.0.1", 3 * day, ca, Warning, "is valid until"},
		{"expired", "127.0.0.1", -day, ca, Failure, "has expired"},
		{"other name", "192.0.2.1", 60 * day, ca, Failure, "another name"},
		{"unknown authority", "127.0.0.1", 60 * day, newCA(t), Failure, "does not know the authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			server := httptest.NewUnstartedServer(healthy())
			server.TLS = &tls.Config{Certificates: []tls.Certificate{c.ca.issue(t, c.host, c.left)}}
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // refused handshakes
			server.StartTLS()
			t.Cleanup(server.Close)
			s.keys["base_url"] = server.URL
			s.deps.Roots = x509.NewCertPool()
			s.deps.Roots.AddCert(ca.cert)
			all := s.run(t)
			want(t, all, "base_url", c.status, c.text)
			if c.status != Failure {
				want(t, all, "base_url", OK, "leads to mishap")
			}
		})
	}
	t.Run("no TLS", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.keys["base_url"] = strings.Replace(s.pages.URL, "http:", "https:", 1)
		want(t, s.run(t), "base_url", Failure, "")
	})
}

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: rand.Text()},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

// issue returns a certificate for an address that is valid for some more time.
func (a *authority) issue(t *testing.T, address string, left time.Duration) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().AddDate(0, -3, 0),
		NotAfter: time.Now().Add(left), IPAddresses: []net.IP{net.ParseIP(address)}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
