/// SQLSTATE codes that repositories map to errors of their ports (PostgreSQL manual, appendix A; `noDataFound` is PL/pgSQL's).
enum SQLState {
    static let insufficientPrivilege = "42501"
    static let checkViolation = "23514"
    static let noDataFound = "P0002"
    static let invalidParameter = "22023"
    /// Texts that are not of the type they are read as, or out of its range.
    static let invalidTexts: Set<String> = ["22P02", "22003", "22007", "22008"]
}
