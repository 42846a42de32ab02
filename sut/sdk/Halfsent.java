/**
 * Announces a boundary of one's own to Halfsent, from Java. Copy this file (and give it your package); it needs nothing
 * else.
 *
 * <pre>
 *     Halfsent.at("rendered", digestKey);
 *     Halfsent.at("rendered", "");        // of the job that this worker holds
 * </pre>
 *
 * Elsewhere it is one failed look-up. Java makes one slash of several in a row and drops one at the end of the key.
 */
public final class Halfsent {
  private Halfsent() {}

  /** Marks the place that the program has reached. May be called from any thread. */
  @SuppressWarnings("ResultOfMethodCallIgnored")
  public static void at(String name, String key) {
    String path = "/halfsent/at/" + name.replace('/', '_') + "/" + key;
    new java.io.File(path.split("\0", 2)[0]).exists();
  }
}
