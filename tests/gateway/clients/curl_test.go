package clients

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// curl, in every version of HTTP that it and the gateway share.
func TestCurl(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/gzip":
			answer.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(answer)
			fmt.Fprint(packed, "hello")
			packed.Close()
		case "/ranges":
			http.ServeContent(answer, request, "", time.Time{}, strings.NewReader("0123456789"))
		case "/teapot":
			answer.WriteHeader(http.StatusTeapot)
		case "/moved":
			http.Redirect(answer, request, "/ranges", http.StatusFound)
		default:
			takeAndGive(answer, request)
		}
	})
	plain := startGateway(t, routesTo(backend, ""))
	authority := newAuthority(t)
	made := authority.certify(t, "localhost")
	encrypted := startGateway(t, routesTo(backend, ""), made.settings()...)
	port := encrypted.address[strings.LastIndex(encrypted.address, ":")+1:]
	secure := []string{"--cacert", authority.file, "--resolve", "localhost:" + port + ":127.0.0.1"}
	body := filepath.Join(t.TempDir(), "body")
	content, err := io.ReadAll(newContent(64 * kib))
	must(t, err)
	must(t, os.WriteFile(body, content, 0o600))
	stored := fmt.Sprintf("%d %s", 64*kib, digestOf(64*kib))

	for _, version := range []struct {
		name, url, spoken string
		options           []string
	}{
		{"HTTP/1.0", plain.url(""), "1", []string{"--http1.0"}},
		{"HTTP/1.1", plain.url(""), "1.1", []string{"--http1.1"}},
		{"HTTP/1.1 that offers HTTP/2", plain.url(""), "1.1", []string{"--http2"}},
		{"HTTP/2 with prior knowledge", plain.url(""), "2", []string{"--http2-prior-knowledge"}},
		{"HTTP/1.1 over TLS", "https://localhost:" + port, "1.1", append([]string{"--http1.1"}, secure...)},
		{"HTTP/2 over TLS", "https://localhost:" + port, "2", append([]string{"--http2"}, secure...)},
	} {
		t.Run(version.name, func(t *testing.T) {
			for _, one := range []struct {
				what, path, status, said string
				options                  []string
			}{
				{"a body comes", "/?size=0", "200", "", nil},
				{"a part comes", "/ranges", "206", "234", []string{"--range", "2-4"}},
				{"a head alone comes", "/ranges", "200", "content-length: 10", []string{"--head"}},
				{"a packed body stays packed", "/gzip", "200", "hello", []string{"--compressed"}},
				{"a status stays", "/teapot", "418", "", nil},
				{"a redirect is followed", "/moved", "200", "0123456789", []string{"--location"}},
				{"a body goes", "/", "200", stored, []string{"--data-binary", "@" + body}},
				{"a body goes when it is asked for", "/", "200", stored, []string{"--data-binary", "@" + body, "--header", "Expect: 100-continue"}},
				{"nothing passes without a token", "/", "401", "", []string{"--header", "Authorization:"}},
			} {
				// Debian's curl cannot use such a connection twice, whoever is at the other end.
				if one.path == "/moved" && slices.Contains(version.options, "--http2-prior-knowledge") {
					continue
				}
				arguments := append([]string{"--silent", "--show-error", "--max-time", "20", "--write-out", "\n%{http_version} %{response_code}"}, version.options...)
				arguments = append(arguments, "--header", "Authorization: "+bearer)
				if one.status == "401" {
					arguments = arguments[:len(arguments)-2]
				}
				answer, err := exec.Command("curl", append(append(arguments, one.options...), version.url+one.path)...).CombinedOutput()
				text := string(answer)
				spoken := fmt.Sprintf("\n%s %s", version.spoken, one.status)
				if err != nil || !strings.HasSuffix(text, spoken) || !strings.Contains(strings.ToLower(text), one.said) {
					t.Errorf("%s: %v: %s", one.what, err, text)
				}
			}
		})
	}

	t.Run("a body of unknown length goes in chunks", func(t *testing.T) {
		command := exec.Command("curl", "--silent", "--show-error", "--max-time", "20", "--request", "POST", "--header", "Authorization: "+bearer, "--upload-file", "-", plain.url("/"))
		command.Stdin = newContent(10 * mib)
		said, err := command.CombinedOutput()
		if wanted := fmt.Sprintf("%d %s", 10*mib, digestOf(10*mib)); err != nil || string(said) != wanted {
			t.Fatalf("%v: %s", err, said)
		}
	})
}
