import Foundation

/// Names of the IANA time zone database. Foundation and PostgreSQL also accept abbreviations and offsets, which they read differently: the sign of
/// `GMT+3` is the opposite in PostgreSQL.
extension TimeZone {
    /// Whether this is a name of the database that the system knows.
    public static func isIANA(_ name: String) -> Bool {
        guard name.utf8.count <= 64, name.wholeMatch(of: /[A-Za-z0-9_+\-\/]+/) != nil else { return false }
        return (name.contains("/") || singleWords.contains(name)) && TimeZone(identifier: name) != nil
    }

    /// Whether this is one of the database's names of UTC.
    public static func isUTC(_ name: String) -> Bool {
        ["UTC", "UCT", "Universal", "Zulu"].contains(name.hasPrefix("Etc/") ? String(name.dropFirst(4)) : name)
    }

    /// The names without an area (tzdata 2025b, files `backward`, `europe` and `northamerica`).
    private static let singleWords: Set<String> = [
        "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "GMT", "GMT+0", "GMT-0", "GMT0",
        "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein", "Libya", "MET", "MST", "MST7MDT",
        "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK", "Singapore", "Turkey", "UCT", "UTC",
        "Universal", "W-SU", "WET", "Zulu",
    ]
}
