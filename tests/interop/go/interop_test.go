// Package interop drives golang.org/x/oauth2 and github.com/coreos/go-oidc as relying parties of a running server.
//
// The runner, tests/interop/run, starts the server and says where it is in SLUICE_ISSUER and SLUICE_ADMIN_URL.
package interop

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

var (
	issuer = os.Getenv("SLUICE_ISSUER")
	admin  = os.Getenv("SLUICE_ADMIN_URL")
)

// relyingParty is an application: what it knows of itself and of the server.
type relyingParty struct {
	oauth2.Config
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
}

func newRelyingParty(t *testing.T, metadata map[string]any) relyingParty {
	t.Helper()
	provider, err := oidc.NewProvider(t.Context(), issuer)
	must(t, err)
	client := createClient(t, metadata)
	return relyingParty{
		Config: oauth2.Config{
			ClientID:     client.ID,
			ClientSecret: client.Secret,
			Endpoint:     provider.Endpoint(),
			RedirectURL:  callback,
			Scopes:       []string{oidc.ScopeOpenID, oidc.ScopeOfflineAccess},
		},
		provider: provider,
		verifier: provider.Verifier(&oidc.Config{ClientID: client.ID}),
	}
}

// signIn is a whole login: the redirects, the code and its exchange.
func (rp relyingParty) signIn(t *testing.T, user *agent, nonce string) *oauth2.Token {
	t.Helper()
	verifier := oauth2.GenerateVerifier()
	code := rp.code(t, user, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce))
	token, err := rp.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	must(t, err)
	return token
}

func (rp relyingParty) code(t *testing.T, user *agent, options ...oauth2.AuthCodeOption) string {
	t.Helper()
	state := oauth2.GenerateVerifier()
	answer := user.walk(t, rp.AuthCodeURL(state, options...)).Query()
	if answer.Get("state") != state {
		t.Fatalf("state came back as %q: %v", answer.Get("state"), answer)
	}
	if answer.Get("code") == "" {
		t.Fatalf("no code: %v", answer)
	}
	return answer.Get("code")
}

func (rp relyingParty) idToken(t *testing.T, token *oauth2.Token) *oidc.IDToken {
	t.Helper()
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		t.Fatal("the answer has no id_token")
	}
	verified, err := rp.verifier.Verify(t.Context(), raw)
	must(t, err)
	return verified
}

func TestDiscovery(t *testing.T) {
	provider, err := oidc.NewProvider(t.Context(), issuer)
	must(t, err)
	var metadata struct {
		Methods    []string `json:"code_challenge_methods_supported"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	must(t, provider.Claims(&metadata))
	if !slices.Contains(metadata.Methods, "S256") || !slices.Contains(metadata.Algorithms, "RS256") {
		t.Fatalf("S256 and RS256 must be offered: %+v", metadata)
	}
}

func TestCodeFlowWithPKCE(t *testing.T) {
	for _, method := range []string{"client_secret_basic", "client_secret_post"} {
		t.Run(method, func(t *testing.T) {
			rp := newRelyingParty(t, map[string]any{"token_endpoint_auth_method": method})
			token := rp.signIn(t, newAgent(t, "alice"), "a nonce of this test")

			verified := rp.idToken(t, token)
			if verified.Subject != "alice" || verified.Issuer != issuer || verified.Nonce != "a nonce of this test" {
				t.Fatalf("id token: %+v", verified)
			}
			if verified.AccessTokenHash != "" {
				must(t, verified.VerifyAccessToken(token.AccessToken))
			}
			if left := time.Until(token.Expiry); left < time.Minute {
				t.Fatalf("the access token lives %v", left)
			}
			info, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
			must(t, err)
			if info.Subject != "alice" {
				t.Fatalf("userinfo: %+v", info)
			}
		})
	}
}

func TestPublicClient(t *testing.T) {
	rp := newRelyingParty(t, map[string]any{"token_endpoint_auth_method": "none"})
	rp.ClientSecret = ""
	token := rp.signIn(t, newAgent(t, "alice"), "n-public-client")
	if rp.idToken(t, token).Subject != "alice" {
		t.Fatal("another subject")
	}
}

func TestTokenSourceRefreshes(t *testing.T) {
	rp := newRelyingParty(t, nil)
	token := rp.signIn(t, newAgent(t, "alice"), "n-token-source")

	expired := *token
	expired.Expiry = time.Now().Add(-time.Minute)
	refreshed, err := rp.TokenSource(t.Context(), &expired).Token()
	must(t, err)
	if refreshed.AccessToken == token.AccessToken || refreshed.RefreshToken == token.RefreshToken {
		t.Fatal("the tokens did not change")
	}
	if rp.idToken(t, refreshed).Subject != "alice" {
		t.Fatal("another subject")
	}
	info, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(refreshed))
	must(t, err)
	if info.Subject != "alice" {
		t.Fatalf("userinfo: %+v", info)
	}
}

func TestClientCredentials(t *testing.T) {
	client := createClient(t, map[string]any{"scope": "read write"})
	config := clientcredentials.Config{
		ClientID:     client.ID,
		ClientSecret: client.Secret,
		TokenURL:     issuer + "oauth2/token",
		Scopes:       []string{"read"},
	}
	token, err := config.Token(t.Context())
	must(t, err)
	if token.AccessToken == "" || token.RefreshToken != "" {
		t.Fatalf("a client gets an access token and nothing more: %v", token.Type())
	}
}

func TestWrongVerifierIsInvalidGrant(t *testing.T) {
	rp := newRelyingParty(t, nil)
	rp.Endpoint.AuthStyle = oauth2.AuthStyleInHeader // else the library tries again with the secret in the body
	code := rp.code(t, newAgent(t, "alice"), oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))
	_, err := rp.Exchange(t.Context(), code, oauth2.VerifierOption(oauth2.GenerateVerifier()))
	refusedWith(t, err, "invalid_grant", http.StatusBadRequest)
}

func TestWrongSecretIsInvalidClient(t *testing.T) {
	rp := newRelyingParty(t, nil)
	verifier := oauth2.GenerateVerifier()
	code := rp.code(t, newAgent(t, "alice"), oauth2.S256ChallengeOption(verifier))
	rp.ClientSecret = "not the secret"
	rp.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	_, err := rp.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	refusedWith(t, err, "invalid_client", http.StatusUnauthorized)
}

func TestABadBearerTokenGetsNoUserInfo(t *testing.T) {
	rp := newRelyingParty(t, nil)
	_, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "made-up"}))
	if err == nil {
		t.Fatal("userinfo answered a made-up token")
	}
}

func TestARefusalReachesTheApplication(t *testing.T) {
	rp := newRelyingParty(t, nil)
	user := newAgent(t, "alice")
	user.refuses = true
	answer := user.walk(t, rp.AuthCodeURL("a state that is long enough")).Query()
	if answer.Get("error") != "access_denied" || answer.Get("state") != "a state that is long enough" {
		t.Fatalf("the application was told %v", url.Values(answer))
	}
}

func refusedWith(t *testing.T, err error, code string, status int) {
	t.Helper()
	var refusal *oauth2.RetrieveError
	if !errors.As(err, &refusal) || refusal.ErrorCode != code || refusal.Response.StatusCode != status {
		t.Fatalf("expected %s with %d, got %v", code, status, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
