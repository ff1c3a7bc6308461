import CoachCore
import JSON

/// A parsed JSON Web Token in compact form (RFC 7515 §7.1). Its signature is not verified yet, so nothing in it can be trusted.
struct CompactToken {
    let header: Header
    let payload: [UInt8]
    let signature: [UInt8]
    /// The encoded header and payload with the dot between them: the input of the signature.
    let signedText: ArraySlice<UInt8>

    struct Header {
        let algorithm: String
        let keyID: String?

        init(json: [UInt8]) throws(TokenRejection) {
            let requiresExtension: Bool
            do throws(JSONFinding) {
                let header = try JSONReader(parsing: json)
                algorithm = try header.required("alg")
                keyID = try header.optional("kid")
                requiresExtension = header.contains("crit")
            } catch {
                throw .malformed
            }
            // No extension is implemented (RFC 7515 §4.1.11).
            if requiresExtension { throw .algorithm }
        }
    }

    init(_ token: [UInt8]) throws(TokenRejection) {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        self.header = try Header(json: header)
        self.payload = payload
        self.signature = signature
        self.signedText = token[..<parts[1].endIndex]
    }
}
