package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// callback is never reached: the agent stops when it is sent there.
const callback = "http://127.0.0.1:9/callback"

const mostHops = 12

// agent is a browser without a screen together with a login and consent app without pages.
type agent struct {
	http    *http.Client
	subject string
	refuses bool
}

func newAgent(t *testing.T, subject string) *agent {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &agent{http: &http.Client{Jar: jar, CheckRedirect: stay}, subject: subject}
}

// walk follows redirects from address, answers challenges, and gives the callback with its parameters.
func (a *agent) walk(t *testing.T, address string) *url.URL {
	t.Helper()
	for range mostHops {
		response, err := a.http.Get(address)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, err)
		must(t, response.Body.Close())
		next, err := response.Location()
		if err != nil {
			t.Fatalf("%d is not a redirect: %s", response.StatusCode, body)
		}
		if strings.HasPrefix(next.String(), callback) {
			return next
		}
		address = a.answer(t, next)
	}
	t.Fatalf("still redirected after %d hops", mostHops)
	return nil
}

func (a *agent) answer(t *testing.T, at *url.URL) string {
	t.Helper()
	query := at.Query()
	switch {
	case query.Has("login_challenge"):
		return decide(t, "login", query.Get("login_challenge"), map[string]any{"subject": a.subject}, false)
	case query.Has("consent_challenge"):
		var request struct {
			Scope []string `json:"requested_scope"`
		}
		challenge := query.Get("consent_challenge")
		call(t, http.MethodGet, "/admin/oauth2/auth/requests/consent?consent_challenge="+url.QueryEscape(challenge), nil, &request)
		return decide(t, "consent", challenge, map[string]any{"grant_scope": request.Scope}, a.refuses)
	default:
		return at.String()
	}
}

func decide(t *testing.T, kind, challenge string, decision map[string]any, refuse bool) string {
	t.Helper()
	verb := "accept"
	if refuse {
		verb, decision = "reject", map[string]any{"error": "access_denied"}
	}
	var answer struct {
		RedirectTo string `json:"redirect_to"`
	}
	path := "/admin/oauth2/auth/requests/" + kind + "/" + verb + "?" + kind + "_challenge=" + url.QueryEscape(challenge)
	call(t, http.MethodPut, path, decision, &answer)
	return answer.RedirectTo
}

type registered struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
}

func createClient(t *testing.T, metadata map[string]any) registered {
	t.Helper()
	request := map[string]any{
		"client_name":    t.Name(),
		"grant_types":    []string{"authorization_code", "refresh_token", "client_credentials"},
		"response_types": []string{"code"},
		"scope":          "openid offline_access",
		"redirect_uris":  []string{callback},
	}
	for key, value := range metadata {
		request[key] = value
	}
	if request["token_endpoint_auth_method"] == "none" {
		request["grant_types"] = []string{"authorization_code", "refresh_token"}
	}
	var client registered
	call(t, http.MethodPost, "/admin/clients", request, &client)
	return client
}

// call is one call of the admin API, JSON in and out; anything but 2xx fails the test.
func call(t *testing.T, method, path string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	must(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, admin+path, bytes.NewReader(body))
	must(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode/100 != 2 {
		t.Fatalf("%s %s answered %d: %s", method, request.URL.Path, response.StatusCode, answer)
	}
	must(t, json.Unmarshal(answer, out))
}
