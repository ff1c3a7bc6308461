extension [UInt8] {
    /// At most so many bytes of UTF-8, without a cut character at the end.
    func prefixOfWholeCharacters(_ count: Int) -> ArraySlice<UInt8> {
        guard count < self.count else { return self[...] }
        var end = count
        while end > 0, self[end] & 0xC0 == 0x80 { end -= 1 }
        return self[..<end]
    }
}
