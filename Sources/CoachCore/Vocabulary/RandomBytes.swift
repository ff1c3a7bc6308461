extension [UInt8] {
    /// Bytes that cannot be guessed, from the system's cryptographic generator.
    public static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }
}
