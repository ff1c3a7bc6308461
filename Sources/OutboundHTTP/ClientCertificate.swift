/// A TLS client certificate with its private key, in PEM. `description` and reflection do not show the key.
public struct ClientCertificate: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The certificate, then intermediate ones.
    public var chain: [UInt8]
    /// The private key, not encrypted.
    public var key: [UInt8]

    public init(chain: [UInt8], key: [UInt8]) {
        self.chain = chain
        self.key = key
    }

    public var description: String { "a certificate of \(chain.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
