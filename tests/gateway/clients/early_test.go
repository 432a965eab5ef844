package clients

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A refusal that comes before the end of the request reaches the client that is still sending.
func TestEarlyRefusal(t *testing.T) {
	backend := upstream(t, takeAndGive)
	gateway := startGateway(t, routesTo(backend, ""))
	t.Run("Go", func(t *testing.T) {
		for range 20 {
			answer, err := (&http.Client{}).Post(gateway.url("/"), "text/plain", newContent(50*mib))
			must(t, err)
			answer.Body.Close()
			if answer.StatusCode != http.StatusUnauthorized {
				t.Fatal(answer.StatusCode)
			}
		}
	})
	t.Run("curl", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "body")
		must(t, os.WriteFile(file, make([]byte, 50*mib), 0o600))
		for range 20 {
			said, err := exec.Command("curl", "-sS", "-o", "/dev/null", "-w", "%{response_code}", "-H", "Expect:", "--data-binary", "@"+file, gateway.url("/")).CombinedOutput()
			if err != nil || string(said) != "401" {
				t.Fatalf("%s: %v", said, err)
			}
		}
	})
}
