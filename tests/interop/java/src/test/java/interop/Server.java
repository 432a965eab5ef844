package interop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.util.JSONObjectUtils;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.text.ParseException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The server under test: where it is, what it says about itself, and its admin API. */
final class Server {
  static final Issuer ISSUER = new Issuer(System.getenv("SLUICE_ISSUER"));
  static final String ADMIN = System.getenv("SLUICE_ADMIN_URL");

  /** Nothing listens here: the agent stops when it is sent there. */
  static final URI CALLBACK = URI.create("http://127.0.0.1:9/callback");

  static final URI AFTER_LOGOUT = URI.create("http://127.0.0.1:9/signed-out");
  static final URI AFTER_DEVICE = URI.create("http://127.0.0.1:9/device-signed-in");

  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private Server() {}

  /** The discovery document, as strictly as the SDK reads it. */
  static OIDCProviderMetadata metadata() {
    try {
      return OIDCProviderMetadata.resolve(ISSUER);
    } catch (Exception error) {
      throw new AssertionError("discovery", error);
    }
  }

  /** One call of the admin API, JSON in and out; anything but 2xx is a failure. */
  static Map<String, Object> admin(String method, String path, Map<String, Object> body) {
    String text = body == null ? "" : JSONObjectUtils.toJSONString(body);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(ADMIN + path))
            .header("content-type", "application/json")
            .method(method, BodyPublishers.ofString(text))
            .build();
    try {
      HttpResponse<String> response = HTTP.send(request, BodyHandlers.ofString());
      assertTrue(response.statusCode() / 100 == 2, method + " " + path.split("\\?")[0] + " answered " + response.statusCode() + ": " + response.body());
      return response.body().isEmpty() ? Map.of() : JSONObjectUtils.parse(response.body());
    } catch (IOException | InterruptedException | ParseException error) {
      throw new AssertionError(method + " " + path, error);
    }
  }

  /** Registers a client that may sign people in and speak for itself; {@code metadata} is added. */
  static Map<String, Object> createClient(Map<String, Object> metadata) {
    Map<String, Object> client = new HashMap<>();
    client.put("client_name", "nimbus " + UUID.randomUUID());
    client.put("grant_types", List.of("authorization_code", "refresh_token", "client_credentials"));
    client.put("response_types", List.of("code"));
    client.put("scope", "openid offline_access profile");
    client.put("redirect_uris", List.of(CALLBACK.toString()));
    client.put("post_logout_redirect_uris", List.of(AFTER_LOGOUT.toString()));
    client.put("token_endpoint_auth_method", "client_secret_basic");
    client.putAll(metadata);
    return admin("POST", "/admin/clients", client);
  }
}
