package clients

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TLS with an upstream: each side shows a certificate, and each looks at the other's.
func TestTls(t *testing.T) {
	ours, strangers := newAuthority(t), newAuthority(t)
	server := ours.certify(t, "backend.internal")
	gatewayCertificate := ours.certify(t, "gateway.internal")
	forged := strangers.certify(t, "gateway.internal")
	port := serveTls(t, &tls.Config{
		Certificates: []tls.Certificate{server.pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    ours.pool(),
		NextProtos:   []string{"h2", "http/1.1"},
	})
	settings := func(ca, name string, shown certified) string {
		text := fmt.Sprintf("ca_file: %s, server_name: %s", ca, name)
		if shown.certificate != "" {
			text += fmt.Sprintf(", certificate: %s, key: %s", shown.certificate, shown.key)
		}
		return text
	}
	good := settings(ours.file, "backend.internal", gatewayCertificate)
	var routes strings.Builder
	routes.WriteString("upstreams:\n")
	cases := []struct {
		name, tls, more string
		status          int
	}{
		{"over HTTP/1.1", good, "", http.StatusOK},
		{"over HTTP/2", good, ", protocol: http2", http.StatusOK},
		{"that somebody else vouches for", settings(strangers.file, "backend.internal", gatewayCertificate), "", http.StatusBadGateway},
		{"that nobody known vouches for", fmt.Sprintf("server_name: backend.internal, certificate: %s, key: %s", gatewayCertificate.certificate, gatewayCertificate.key), "", http.StatusBadGateway},
		{"that has another name", settings(ours.file, "other.internal", gatewayCertificate), "", http.StatusBadGateway},
		{"that sees no certificate", settings(ours.file, "backend.internal", certified{}), "", http.StatusBadGateway},
		{"that sees a stranger's certificate", settings(ours.file, "backend.internal", forged), "", http.StatusBadGateway},
		{"that sees a stranger's certificate over HTTP/2", settings(ours.file, "backend.internal", forged), ", protocol: http2", http.StatusBadGateway},
	}
	for number, one := range cases {
		fmt.Fprintf(&routes, "  u%d: {servers: [\"https://127.0.0.1:%s\"], tls: {%s}%s}\n", number, port, one.tls, one.more)
	}
	routes.WriteString("routes:\n")
	for number := range cases {
		fmt.Fprintf(&routes, "  - {name: r%[1]d, match: {prefix: /%[1]d}, upstream: u%[1]d}\n", number)
	}
	gateway := startGateway(t, routes.String())
	client := http1(t)
	for number, one := range cases {
		t.Run(fmt.Sprintf("an upstream %s gives %d", one.name, one.status), func(t *testing.T) {
			for range 3 {
				answer, err := client.Get(gateway.url(fmt.Sprintf("/%d", number)))
				must(t, err)
				answer.Body.Close()
				if answer.StatusCode != one.status {
					t.Fatalf("%d", answer.StatusCode)
				}
				if one.status == http.StatusOK && answer.Header.Get("X-Client") != "gateway.internal" {
					t.Fatalf("the upstream saw %q", answer.Header.Get("X-Client"))
				}
			}
		})
	}
}

// serveTls answers with the name of the client's certificate; gives the port.
func serveTls(t *testing.T, config *tls.Config) string {
	t.Helper()
	server := &http.Server{
		TLSConfig: config,
		Handler: http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
			answer.Header().Set("X-Client", request.TLS.PeerCertificates[0].Subject.CommonName)
		}),
		ErrorLog: quiet(),
	}
	listener := listen(t)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()[strings.LastIndex(listener.Addr().String(), ":")+1:]
}
