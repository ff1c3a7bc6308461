/// The coefficients that a scan has, and which of their bits (ITU-T T.81 §B.2.3).
struct JPEGSpectralBand {
    /// Ss and Se: the indices of the first and last coefficient in zigzag order. 0 is the DC coefficient, 1 to 63 are the AC coefficients.
    let first: Int
    let last: Int
    /// Ah and Al: the successive approximation bit positions of the scan before, or 0 for the first one, and of this one.
    let high: Int
    let low: Int

    var refines: Bool { high > 0 }

    /// - Parameter data: the last three bytes of a scan header.
    init(_ data: ArraySlice<UInt8>, isProgressive: Bool) throws(AvatarImage.Flaw) {
        var cursor = ByteCursor(Array(data))
        (first, last) = (try cursor.bigEndian(1), try cursor.bigEndian(1))
        let positions = try cursor.bigEndian(1)
        (high, low) = (positions >> 4, positions & 0x0F)
        guard isProgressive else {
            guard first == 0, last == 63, positions == 0 else { throw .damaged }
            return
        }
        // DC coefficients are in scans of their own (§G.1.1.1.1). A refining scan has one bit more.
        let isBand = first == 0 ? last == 0 : first <= last && last <= 63
        guard isBand, low <= 13, high == 0 || high == low + 1 else { throw .damaged }
    }
}
