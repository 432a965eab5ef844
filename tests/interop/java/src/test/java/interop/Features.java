package interop;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What the server is expected to announce: {@code tests/interop/features.json}.
 *
 * <p>A feature that is expected and not announced fails its tests; one that is neither is skipped, and says so.
 */
final class Features {
  private static final Map<String, Object> FEATURES = read();
  private static final Map<String, Object> METADATA = Server.metadata().toJSONObject();

  private Features() {}

  /** To be called first by a test of this feature. */
  static void needs(String name) {
    Map<String, Object> feature = asObject(FEATURES.get(name));
    boolean announced = asObjects(feature.get("announced")).stream().allMatch(Features::holds);
    boolean expected = (Boolean) feature.get("expected");
    assertFalse(expected && !announced, name + " is expected, and discovery does not say so");
    assumeTrue(announced, name + " is neither announced nor expected");
  }

  private static boolean holds(Map<String, Object> condition) {
    Object value = METADATA.get((String) condition.get("member"));
    if (condition.containsKey("has")) {
      return value instanceof List<?> list && list.stream().anyMatch(each -> words(each).equals(words(condition.get("has"))));
    }
    return condition.containsKey("is") ? condition.get("is").equals(value) : value != null;
  }

  /** Response types are sets of words. */
  private static Set<String> words(Object value) {
    return Set.copyOf(Arrays.asList(value.toString().split(" ")));
  }

  private static Map<String, Object> read() {
    try {
      return JSONObjectUtils.parse(Files.readString(Path.of(System.getenv("INTEROP_FEATURES"))));
    } catch (Exception error) {
      throw new AssertionError("features.json", error);
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> asObject(Object value) {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> asObjects(Object value) {
    return (List<Map<String, Object>>) value;
  }
}
