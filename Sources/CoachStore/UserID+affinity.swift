import CoachCore

extension UserID {
    /// Names the shared connection that this user's statements keep to. All bits count: ids may begin with a time, or end with a counter.
    var affinity: UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a, 64 bits
        withUnsafeBytes(of: uuid.uuid) { bytes in
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return hash
    }
}
