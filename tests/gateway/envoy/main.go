// Stands in for Envoy, which Debian does not have: holds a file of deploy/envoy to Envoy's own schema, and does what Envoy does with it.
//
//	proxy FILE
//
// It understands what the shipped files use: one listener, routes by the beginning of the path, ext_authz over gRPC or HTTP. What goes over the
// wire is Envoy's own types (go-control-plane); which attributes are sent, and what becomes of the answers, follows
// source/extensions/filters/{common,http}/ext_authz of Envoy.
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
)

// verdict is what became of a question.
type verdict struct {
	passes bool
	// change is applied to the headers of a request that passes.
	change func(http.Header)
	// The answer to one that does not.
	status  int
	headers http.Header
	body    string
}

// authority can be asked about requests.
type authority interface {
	ask(request *http.Request) (verdict, error)
}

func main() {
	settings, err := read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	sluice, err := settings.authority()
	if err != nil {
		log.Fatal(err)
	}
	handler := http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		settings.prepare(request)
		if wanted := protocol(request); wanted != "" && !settings.upgradesTo(wanted) {
			answer.WriteHeader(http.StatusForbidden)
			return
		}
		path, _, _ := strings.Cut(target(request), "?")
		route := settings.routeOf(path)
		if route == nil {
			answer.WriteHeader(http.StatusNotFound)
			return
		}
		onward := onwardTo(route.endpoint, settings.manager.GetRouteConfig().GetRequestHeadersToRemove())
		if route.unasked {
			onward.ServeHTTP(answer, request)
			return
		}
		said, err := sluice.ask(request)
		switch {
		case err != nil:
			log.Print(err)
			answer.WriteHeader(settings.statusOnError())
		case !said.passes:
			for name, values := range said.headers {
				answer.Header()[name] = values
			}
			answer.WriteHeader(said.status)
			_, _ = io.WriteString(answer, said.body)
		default:
			said.change(request.Header)
			onward.ServeHTTP(answer, request)
		}
	})
	log.Fatal(http.ListenAndServe(settings.listen, handler))
}

// onwardTo sends a request on without the headers that are removed.
func onwardTo(endpoint string, removed []string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.Out.URL.Scheme, request.Out.URL.Host = "http", endpoint
			request.Out.URL.RawQuery = request.In.URL.RawQuery
			// Go takes these away by itself, and Envoy only what its file says.
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values, given := request.In.Header[name]; given {
					request.Out.Header[name] = values
				}
			}
			for _, name := range removed {
				request.Out.Header.Del(name)
			}
		},
		ErrorHandler: func(answer http.ResponseWriter, _ *http.Request, err error) {
			log.Print(err)
			answer.WriteHeader(http.StatusServiceUnavailable)
		},
	}
}

// prepare does to a request what the connection manager does before any filter.
func (settings *settings) prepare(request *http.Request) {
	withoutNamed(request.Header)
	if settings.dropsUnderscores() {
		for name := range request.Header {
			if strings.Contains(name, "_") {
				delete(request.Header, name)
			}
		}
	}
	if strings.EqualFold(strings.Join(request.Header["Upgrade"], ","), "h2c") {
		for _, name := range []string{"Upgrade", "Connection", "Http2-Settings"} {
			request.Header.Del(name)
		}
	}
	remote, _, _ := net.SplitHostPort(request.RemoteAddr)
	before := request.Header["X-Forwarded-For"]
	request.Header["X-Forwarded-For"] = []string{strings.Join(append(before, remote), ",")}
	request.Header["X-Forwarded-Proto"] = []string{"http"}
}

// withoutNamed removes the headers that Connection names, and their names from it, as Envoy's codec does.
func withoutNamed(headers http.Header) {
	var kept []string
	for _, name := range strings.Split(strings.Join(headers["Connection"], ","), ",") {
		name = strings.TrimSpace(name)
		switch strings.ToLower(name) {
		case "close", "keep-alive", "upgrade", "http2-settings":
			kept = append(kept, name)
		default:
			headers.Del(name)
		}
	}
	headers.Del("Connection")
	if len(kept) > 0 {
		headers.Set("Connection", strings.Join(kept, ", "))
	}
}

// protocol is what a request asks to upgrade to, if it does.
func protocol(request *http.Request) string {
	if !strings.Contains(strings.ToLower(strings.Join(request.Header["Connection"], ",")), "upgrade") {
		return ""
	}
	return strings.Join(request.Header["Upgrade"], ",")
}

// target is the request's path and query as they came.
func target(request *http.Request) string {
	if parsed, err := url.ParseRequestURI(request.RequestURI); err == nil && parsed.IsAbs() {
		return parsed.RequestURI()
	}
	return request.RequestURI
}
