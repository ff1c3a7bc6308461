/// How far the scans of a JPEG have come (ITU-T T.81 §G.1.1.1).
///
/// A scan must begin coefficients that no scan before it had, or refine begun ones by their next bit. So each bit of a coefficient is decoded at most
/// once: the size of the frame bounds the work for a file, and no scan can hide data in coefficients that a later one overwrites. Encoders follow the
/// same rule (`validate_script` in libjpeg).
struct JPEGProgression {
    /// The successive approximation bit position (Al) of each coefficient of each component; nil: no scan had it.
    private var positions: [[Int?]]

    init(components: Int) { positions = [[Int?]](repeating: [Int?](repeating: nil, count: 64), count: components) }

    /// Throws when the scan does not follow those before.
    mutating func add(_ scan: JPEGScan) throws(AvatarImage.Flaw) {
        let band = scan.band
        let expected: Int? = band.refines ? band.high : nil
        for part in scan.parts {
            // AC coefficients follow the first scan of the component's DC coefficients (§G.1.1.1.1).
            guard band.first == 0 || positions[part.component][0] != nil else { throw .damaged }
            for index in band.first...band.last {
                guard positions[part.component][index] == expected else { throw .damaged }
                positions[part.component][index] = band.low
            }
        }
    }
}
