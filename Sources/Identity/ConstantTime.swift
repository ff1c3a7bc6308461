import Crypto

/// Comparison of secrets.
public enum ConstantTime {
    /// Whether both are the same bytes. How long it takes depends on the lengths alone, never on where the first difference
    /// is: fixed-size digests are compared, and a digest's `==` looks at every byte.
    public static func equal(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Bool {
        SHA256.hash(data: Array(a)) == SHA256.hash(data: Array(b))
    }
}
