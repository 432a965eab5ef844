package interop;

import static interop.RelyingParty.SERVER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.JWTParser;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import com.nimbusds.oauth2.sdk.AuthorizationCode;
import com.nimbusds.oauth2.sdk.ClientCredentialsGrant;
import com.nimbusds.oauth2.sdk.RefreshTokenGrant;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.TokenErrorResponse;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.TokenRevocationRequest;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.openid.connect.sdk.AuthenticationResponseParser;
import com.nimbusds.openid.connect.sdk.LogoutRequest;
import com.nimbusds.openid.connect.sdk.token.OIDCTokens;
import com.nimbusds.openid.connect.sdk.validators.LogoutTokenValidator;
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.DisplayNameGenerator;
import org.junit.jupiter.api.Test;

/** The Nimbus OAuth 2.0 SDK, on which Spring Security builds, as the relying party. */
@DisplayNameGeneration(DisplayNameGenerator.ReplaceUnderscores.class)
class NimbusTest {
  @Test
  void discovery_is_read_and_names_the_endpoints_of_the_code_flow() {
    assertEquals(Server.ISSUER, SERVER.getIssuer());
    String issuer = Server.ISSUER.getValue();
    for (URI endpoint : new URI[] {SERVER.getAuthorizationEndpointURI(), SERVER.getTokenEndpointURI(), SERVER.getUserInfoEndpointURI(), SERVER.getJWKSetURI()}) {
      assertTrue(endpoint.toString().startsWith(issuer), endpoint.toString());
    }
    assertTrue(SERVER.getIDTokenJWSAlgs().contains(JWSAlgorithm.RS256));
    assertTrue(SERVER.supportsAuthorizationResponseIssuerParam());
  }

  @Test
  void code_and_pkce_then_userinfo_refresh_and_revocation() throws Exception {
    RelyingParty party = RelyingParty.withSecret(Map.of());
    OIDCTokens tokens = party.signIn(party.request().build().toURI());
    assertEquals("alice", RelyingParty.userinfo(tokens.getAccessToken(), null).getSubject().getValue());

    OIDCTokens refreshed = party.tokens(new RefreshTokenGrant(tokens.getRefreshToken()), null);
    assertNotEquals(tokens.getAccessToken().getValue(), refreshed.getAccessToken().getValue());
    assertTrue(party.introspect(refreshed.getAccessToken()).isActive());

    var revocation = new TokenRevocationRequest(SERVER.getRevocationEndpointURI(), party.authentication, refreshed.getRefreshToken());
    assertTrue(revocation.toHTTPRequest().send().indicatesSuccess());
    assertFalse(party.introspect(refreshed.getAccessToken()).isActive());
  }

  @Test
  void a_client_proves_itself_with_a_key() throws Exception {
    RelyingParty party = RelyingParty.withKey(RelyingParty.newKey());
    party.signIn(party.request().build().toURI());
  }

  @Test
  void client_credentials() throws Exception {
    RelyingParty party = RelyingParty.withSecret(Map.of());
    TokenResponse response = TokenResponse.parse(party.redeem(new ClientCredentialsGrant(), null));
    var facts = party.introspect(response.toSuccessResponse().getTokens().getAccessToken());
    assertEquals(party.id, facts.getClientID());
  }

  @Test
  void a_made_up_code_is_invalid_grant() throws Exception {
    RelyingParty party = RelyingParty.withSecret(Map.of());
    var refused = party.redeem(party.grant(new AuthorizationCode("made-up")), null);
    assertEquals("invalid_grant", TokenErrorResponse.parse(refused).getErrorObject().getCode());
  }

  @Test
  void an_unknown_scope_is_an_error_at_the_callback() throws Exception {
    RelyingParty party = RelyingParty.withSecret(Map.of());
    URI url = party.request(ResponseType.CODE, "openid not-registered").build().toURI();
    var response = AuthenticationResponseParser.parse(new Agent().walk(url)).toErrorResponse();
    assertEquals("invalid_scope", response.getErrorObject().getCode());
    assertEquals(party.state, response.getState());
  }

  @Test
  void a_jwt_access_token_is_what_rfc_9068_says() throws Exception {
    RelyingParty party = RelyingParty.withSecret(Map.of("access_token_strategy", "jwt"));
    OIDCTokens tokens = party.signIn(party.request().build().toURI());
    var processor = new DefaultJWTProcessor<SecurityContext>();
    var keys = JWKSourceBuilder.create(SERVER.getJWKSetURI().toURL()).build();
    processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("at+jwt")));
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(Set.of(JWSAlgorithm.RS256, JWSAlgorithm.ES256), keys));
    var exact = new JWTClaimsSet.Builder().issuer(Server.ISSUER.getValue()).subject("alice").claim("client_id", party.id.getValue()).build();
    processor.setJWTClaimsSetVerifier(new DefaultJWTClaimsVerifier<>(exact, Set.of("exp", "iat", "jti", "aud")));
    processor.process(tokens.getAccessToken().getValue(), null);
  }

  @Test
  void logout_comes_back_to_the_application() throws Exception {
    RelyingParty party = RelyingParty.withSecret(Map.of());
    Agent agent = new Agent();
    OIDCTokens tokens = party.tokens(party.grant(party.accepted(agent.walk(party.request().build().toURI())).getAuthorizationCode()), null);
    State state = new State();
    URI end = agent.walk(new LogoutRequest(SERVER.getEndSessionEndpointURI(), tokens.getIDToken(), Server.AFTER_LOGOUT, state).toURI());
    assertEquals(URI.create(Server.AFTER_LOGOUT + "?state=" + state), end);
  }

  @Test
  void the_logout_token_of_the_back_channel_holds() throws Exception {
    var told = new CompletableFuture<String>();
    HttpServer application = listening(told);
    String url = "http://127.0.0.1:" + application.getAddress().getPort() + "/";
    try {
      RelyingParty party = RelyingParty.withSecret(Map.of("backchannel_logout_uri", url, "backchannel_logout_session_required", true));
      Agent agent = new Agent();
      OIDCTokens tokens = party.tokens(party.grant(party.accepted(agent.walk(party.request().build().toURI())).getAuthorizationCode()), null);
      agent.walk(new LogoutRequest(SERVER.getEndSessionEndpointURI(), tokens.getIDToken(), Server.AFTER_LOGOUT, new State()).toURI());
      String form = told.get(10, TimeUnit.SECONDS);
      var token = JWTParser.parse(Agent.query(URI.create("http://told/?" + form)).get("logout_token"));
      var validator = new LogoutTokenValidator(Server.ISSUER, party.id, JWSAlgorithm.RS256, SERVER.getJWKSetURI().toURL());
      assertEquals(party.verified(tokens.getIDToken()).getSessionID(), validator.validate(token).getSessionID());
    } finally {
      application.stop(0);
    }
  }

  /** An application that answers a POST and keeps its body. */
  private static HttpServer listening(CompletableFuture<String> told) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          told.complete(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    server.start();
    return server;
  }
}
