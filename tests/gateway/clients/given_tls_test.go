package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates; `file` has its own.
type authority struct {
	file        string
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certified is a certificate and its key: files, and for a server of Go.
type certified struct {
	certificate, key string
	pair             tls.Certificate
}

// settings is a gateway that shows it.
func (c certified) settings() []string {
	return []string{"serve.gateway.tls.enabled=true", "serve.gateway.tls.cert.path=" + c.certificate, "serve.gateway.tls.key.path=" + c.key}
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: "an authority of tests"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	parsed, err := x509.ParseCertificate(signed)
	must(t, err)
	folder := t.TempDir()
	file := filepath.Join(folder, "authority.pem")
	writePem(t, file, "CERTIFICATE", signed)
	return &authority{file: file, folder: folder, certificate: parsed, key: key}
}

// pool trusts this authority and nobody else.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// certify makes a certificate with this name, for servers and clients.
func (a *authority) certify(t *testing.T, name string) certified {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	made := certified{certificate: filepath.Join(a.folder, name+".pem"), key: filepath.Join(a.folder, name+".key")}
	writePem(t, made.certificate, "CERTIFICATE", signed)
	writePem(t, made.key, "PRIVATE KEY", private)
	made.pair, err = tls.LoadX509KeyPair(made.certificate, made.key)
	must(t, err)
	return made
}

func writePem(t *testing.T, file, kind string, bytes []byte) {
	t.Helper()
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
}
