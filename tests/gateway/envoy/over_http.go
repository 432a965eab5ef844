package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	matcher "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

type overHTTP struct {
	endpoint string
	client   http.Client
	asked    *matcher.ListStringMatcher
	service  *filter.HttpService
}

func newOverHTTP(endpoint string, settings *filter.ExtAuthz) authority {
	service := settings.GetHttpService()
	client := http.Client{Timeout: service.GetServerUri().GetTimeout().AsDuration()}
	return &overHTTP{endpoint, client, settings.GetAllowedHeaders(), service}
}

func (authority *overHTTP) ask(request *http.Request) (verdict, error) {
	url := "http://" + authority.endpoint + authority.service.GetPathPrefix() + target(request)
	question, err := http.NewRequestWithContext(request.Context(), request.Method, url, http.NoBody)
	if err != nil {
		return verdict{}, err
	}
	question.Host = request.Host
	question.Header = chosen(request.Header, authority.asked, "authorization")
	answer, err := authority.client.Do(question)
	if err != nil {
		return verdict{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return verdict{}, err
	}
	response := authority.service.GetAuthorizationResponse()
	switch {
	case answer.StatusCode == http.StatusOK:
		own := chosen(answer.Header, response.GetAllowedUpstreamHeaders())
		removed := answer.Header.Get("X-Envoy-Auth-Headers-To-Remove")
		return verdict{passes: true, change: func(headers http.Header) {
			for name, values := range own {
				headers[name] = values
			}
			for _, name := range strings.Split(removed, ",") {
				headers.Del(strings.TrimSpace(name))
			}
		}}, nil
	case answer.StatusCode >= 500:
		return verdict{}, fmt.Errorf("the authority answers %d", answer.StatusCode)
	default:
		headers := chosen(answer.Header, response.GetAllowedClientHeaders(), "www-authenticate", "location")
		return verdict{status: answer.StatusCode, headers: headers, body: string(body)}, nil
	}
}

// chosen are the headers that a list, or Envoy itself, lets pass.
func chosen(headers http.Header, list *matcher.ListStringMatcher, always ...string) http.Header {
	passed := http.Header{}
	for name, values := range headers {
		low := strings.ToLower(name)
		for _, own := range always {
			if low == own {
				passed[name] = values
			}
		}
		for _, pattern := range list.GetPatterns() {
			if (pattern.GetExact() != "" && low == pattern.GetExact()) || (pattern.GetPrefix() != "" && strings.HasPrefix(low, pattern.GetPrefix())) {
				passed[name] = values
			}
		}
	}
	return passed
}
