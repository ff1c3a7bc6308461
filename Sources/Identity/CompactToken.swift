import Foundation

/// A token taken apart, before anything in it is believed (RFC 7515 §7.1).
struct CompactToken {
    let header: Header
    let payload: [UInt8]
    let signature: [UInt8]
    /// Header and payload as they were written, with the dot: what the signature signs.
    let signedText: ArraySlice<UInt8>

    struct Header: Decodable {
        let algorithm: String
        let keyID: String?

        enum CodingKeys: String, CodingKey {
            case algorithm = "alg"
            case keyID = "kid"
            case critical = "crit"
        }

        /// Thrown for a token that demands an extension; none is implemented (RFC 7515 §4.1.11).
        struct CriticalExtension: Error {}

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            if fields.contains(.critical) { throw CriticalExtension() }
            algorithm = try fields.decode(String.self, forKey: .algorithm)
            keyID = try fields.decodeIfPresent(String.self, forKey: .keyID)
        }
    }

    init(_ token: [UInt8]) throws(TokenRejection) {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        do {
            self.header = try JSONDecoder().decode(Header.self, from: Data(header))
        } catch is Header.CriticalExtension {
            throw .algorithm
        } catch {
            throw .malformed
        }
        self.payload = payload
        self.signature = signature
        self.signedText = token[..<parts[1].endIndex]
    }
}
