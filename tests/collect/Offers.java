import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** Sends reports with Java's client, which offers HTTP/2: java Offers.java URL PLAN HEX...; one argument a request. */
class Offers {
  public static void main(String[] given) throws Exception {
    var client = HttpClient.newHttpClient();
    for (var hex : Arrays.copyOfRange(given, 2, given.length)) {
      var body = HexFormat.of().parseHex(hex);
      var pieces = List.of(Arrays.copyOf(body, 7), Arrays.copyOfRange(body, 7, body.length));
      var whole = body[0] == 0 ? BodyPublishers.ofByteArray(body) : BodyPublishers.ofByteArrays(pieces);
      var request = HttpRequest.newBuilder(URI.create(given[0])).header("Assocpriv-Plan", given[1])
          .header("Content-Type", "application/octet-stream").POST(whole).build();
      var answer = client.send(request, BodyHandlers.ofString());
      System.out.println(answer.statusCode() + " " + answer.body());
    }
  }
}
