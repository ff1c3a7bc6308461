import JSON
import OpenSSLCrypto
import TokenRelay

/// AWS Signature Version 4 (docs.aws.amazon.com/IAM, "Create a signed AWS API request") of a `POST`.
struct SignatureV4 {
    var accessKey: AccessKey
    var region: String
    var service: String

    /// The fields to add to a request. Costs a hash of the body.
    func headers(for request: TransferRequest, at now: Timestamp) -> [TransferHeader] {
        let time = now.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        let day = time.prefix(8)
        let (host, path, query) = Self.split(request.url)
        var added = [TransferHeader("X-Amz-Date", time)]
        if let sessionToken = accessKey.sessionToken { added.append(TransferHeader("X-Amz-Security-Token", sessionToken)) }
        let signed = (request.headers.filter { $0.name == "Content-Type" } + [TransferHeader("Host", host)] + added)
            .map { ($0.name.lowercased(), $0.value) }.sorted { $0.0 < $1.0 }
        let names = signed.map(\.0).joined(separator: ";")
        let canonical =
            "POST\n\(Self.encodedAgain(path))\n\(Self.sorted(query))\n" + signed.map { "\($0.0):\($0.1)\n" }.joined()
            + "\n\(names)\n\(Hexadecimal.encode(SHA256.hash(request.body ?? [])))"
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(Hexadecimal.encode(SHA256.hash(Array(canonical.utf8))))"
        let key = [String(day), region, service, "aws4_request"].reduce(Array("AWS4\(accessKey.secret)".utf8)) { key, part in
            AuthenticationKey(key).code(of: Array(part.utf8))
        }
        let signature = Hexadecimal.encode(AuthenticationKey(key).code(of: Array(text.utf8)))
        let authorization = "AWS4-HMAC-SHA256 Credential=\(accessKey.id)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        return added + [TransferHeader("Authorization", authorization)]
    }

    private static func split(_ url: String) -> (host: String, path: String, query: Substring) {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let host = rest.prefix { $0 != "/" }
        let target = rest[host.endIndex...]
        let path = target.prefix { $0 != "?" }
        return (String(host), String(path), target[path.endIndex...].dropFirst())
    }

    /// The parameters, which are encoded already, by name and value.
    private static func sorted(_ query: Substring) -> String {
        let parameters = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        return parameters.sorted { $0.lexicographicallyPrecedes($1) }.map { $0.joined(separator: "=") }.joined(separator: "&")
    }

    /// The path is encoded on the wire, and once more in what is signed: `:` is `%3A`, then `%253A`.
    private static func encodedAgain(_ path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.encode(String($0)) }.joined(separator: "/")
    }
}
