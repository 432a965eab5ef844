package interop;

import java.io.IOException;
import java.net.CookieManager;
import java.net.CookiePolicy;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A browser without a screen, and a login and consent app without pages, that says yes to everything as alice. */
final class Agent {
  private static final int MOST_HOPS = 12;
  private static final List<URI> ENDS = List.of(Server.CALLBACK, Server.AFTER_LOGOUT, Server.AFTER_DEVICE);

  private final HttpClient http =
      HttpClient.newBuilder()
          .cookieHandler(new CookieManager(null, CookiePolicy.ACCEPT_ALL))
          .followRedirects(HttpClient.Redirect.NEVER)
          .build();

  /** Follows redirects from {@code url} and answers challenges until it is sent to where nothing listens. */
  URI walk(URI url) {
    URI next = url;
    for (int hop = 0; hop < MOST_HOPS; hop += 1) {
      HttpResponse<String> response = get(next);
      String page = "a page with status " + response.statusCode() + ": " + response.body();
      next = next.resolve(response.headers().firstValue("location").orElseThrow(() -> new AssertionError(page)));
      String reached = next.toString();
      if (ENDS.stream().anyMatch(end -> reached.startsWith(end.toString()))) {
        return next;
      }
      next = answered(next);
    }
    throw new AssertionError("still redirected after " + MOST_HOPS + " hops: " + next.getPath());
  }

  private HttpResponse<String> get(URI url) {
    try {
      return http.send(HttpRequest.newBuilder(url).build(), BodyHandlers.ofString());
    } catch (IOException | InterruptedException error) {
      throw new AssertionError("GET " + url.getPath(), error);
    }
  }

  private static URI answered(URI url) {
    Map<String, String> query = query(url);
    for (String kind : List.of("device", "login", "consent", "logout")) {
      String challenge = query.get(kind + "_challenge");
      if (challenge != null) {
        return URI.create((String) accept(kind, challenge, query).get("redirect_to"));
      }
    }
    return url;
  }

  private static Map<String, Object> accept(String kind, String challenge, Map<String, String> query) {
    String at = "/admin/oauth2/auth/requests/" + kind;
    String which = "?" + kind + "_challenge=" + URLEncoder.encode(challenge, StandardCharsets.UTF_8);
    Map<String, Object> body = new HashMap<>();
    switch (kind) {
      case "device" -> body.put("user_code", query.get("user_code"));
      case "login" -> body.putAll(Map.of("subject", "alice", "remember", true));
      case "consent" -> body.put("grant_scope", Server.admin("GET", at + which, null).get("requested_scope"));
      default -> body = null;
    }
    return Server.admin("PUT", at + "/accept" + which, body);
  }

  static Map<String, String> query(URI url) {
    if (url.getRawQuery() == null) {
      return Map.of();
    }
    return Arrays.stream(url.getRawQuery().split("&"))
        .map(pair -> pair.split("=", 2))
        .collect(Collectors.toMap(pair -> decoded(pair[0]), pair -> pair.length == 2 ? decoded(pair[1]) : "", (first, second) -> first));
  }

  private static String decoded(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }
}
