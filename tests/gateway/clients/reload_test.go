package clients

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Routes are replaced under load, by a signal and by a change of the file alone, and no request fails.
func TestReload(t *testing.T) {
	var names []string
	var files []string
	release := make(chan struct{})
	for _, name := range []string{"one", "two"} {
		server := upstream(t, func(answer http.ResponseWriter, request *http.Request) {
			fmt.Fprint(answer, name)
			if request.URL.Path == "/long" {
				answer.(http.Flusher).Flush()
				<-release
				fmt.Fprint(answer, " to the end")
			}
		})
		names = append(names, name)
		files = append(files, fmt.Sprintf(`
upstreams:
  %[1]s: {servers: ["%[2]s"]}
routes:
  - {name: all, match: {prefix: /}, upstream: %[1]s}
  - {name: %[1]s-only, match: {prefix: /%[1]s}, upstream: %[1]s, auth: none}
`, name, server))
	}
	gateway := startGateway(t, files[0])
	client := http1(t)
	led := func(path string) (int, string) {
		answer, err := client.Get(gateway.url(path))
		must(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, string(body)
	}
	long, err := client.Get(gateway.url("/long"))
	must(t, err)
	defer long.Body.Close()

	underLoad(t, gateway, func() {
		for turn := range 12 {
			next := (turn + 1) % 2
			gateway.write(t, files[next])
			if turn < 8 {
				must(t, gateway.process.Signal(syscall.SIGHUP))
			}
			eventually(t, "the new file leads", func() bool {
				_, name := led("/")
				return name == names[next]
			})
		}
		for range 50 {
			must(t, gateway.process.Signal(syscall.SIGHUP))
			time.Sleep(5 * time.Millisecond)
		}
	})

	for name, bad := range map[string]string{
		"is no YAML":              "upstreams: [",
		"ends before its routes":  files[1][:strings.Index(files[1], "routes:")],
		"names no upstream":       strings.Replace(files[1], "upstream: two", "upstream: three", 1),
		"has an unknown key":      files[1] + "surprise: 1\n",
		"names a file that isn't": strings.Replace(files[1], "{servers", "{tls: {ca_file: nowhere.pem}, servers", 1),
	} {
		t.Run("a file that "+name+" changes nothing", func(t *testing.T) {
			said := len(gateway.log.String())
			gateway.write(t, bad)
			must(t, gateway.process.Signal(syscall.SIGHUP))
			eventually(t, "it is complained about", func() bool {
				return strings.Contains(gateway.log.String()[said:], `"level":"ERROR"`)
			})
			if force := gateway.metric(t, "sluice_gateway_routes_in_force"); force != 0 {
				t.Errorf("metrics say %v", force)
			}
			if status, name := led("/"); status != http.StatusOK || name != "one" {
				t.Errorf("%d from %s", status, name)
			}
		})
	}
	gateway.write(t, files[1])
	must(t, gateway.process.Signal(syscall.SIGHUP))
	eventually(t, "a good file is in force again", func() bool {
		return gateway.metric(t, "sluice_gateway_routes_in_force") == 1
	})

	t.Run("a request that began under the first file ends under it", func(t *testing.T) {
		close(release)
		finished := make(chan string, 1)
		go func() {
			body, err := io.ReadAll(long.Body)
			finished <- fmt.Sprintf("%s, %v", body, err)
		}()
		select {
		case end := <-finished:
			if end != "one to the end, <nil>" {
				t.Fatal(end)
			}
		case <-time.After(longest):
			t.Fatal("it does not end")
		}
	})
}
