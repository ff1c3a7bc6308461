import Foundation
import JSON
import OpenSSLCrypto

/// The JSON key file of a Google service account.
public struct ServiceAccountFile: Sendable {
    /// Why a file cannot be used. Never contains the key.
    public struct Invalid: Error, CustomStringConvertible {
        public let description: String
    }

    let email: String
    let keyID: String?
    let key: RSASigningKey
    /// Where access tokens are obtained.
    public let tokenURL: String

    public init(parsing bytes: [UInt8]) throws(Invalid) {
        do throws(JSONFinding) {
            let json = try JSONReader(parsing: bytes)
            email = try json.required("client_email")
            keyID = try json.optional("private_key_id")
            tokenURL = try json.required("token_uri")
            guard let url = URL(string: tokenURL), KeySource.isTrustworthy(url) else {
                throw JSONFinding("token_uri", .invalid("must be https, or http on loopback"))
            }
            let pem = try json.required("private_key", as: String.self)
            guard let key = RSASigningKey(pem: pem) else {
                throw JSONFinding("private_key", .invalid("is not an RSA key in PEM form"))
            }
            self.key = key
        } catch {
            throw Invalid(description: "\(error)")
        }
    }
}
