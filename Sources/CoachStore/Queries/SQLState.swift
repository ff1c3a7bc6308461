/// SQLSTATE codes that repositories map to errors of their ports (PostgreSQL manual, appendix A; `noDataFound` is PL/pgSQL's).
enum SQLState {
    static let insufficientPrivilege = "42501"
    static let checkViolation = "23514"
    static let noDataFound = "P0002"
    static let invalidParameter = "22023"
    static let uniqueViolation = "23505"
    static let deadlock = "40P01"
    /// Lock not available, deadlock, serialization failure: another transaction was in the way.
    static let contention: Set<String> = ["55P03", deadlock, "40001"]
    /// Table or schema that does not exist, or may not be read.
    static let missing: Set<String> = ["42P01", "3F000", insufficientPrivilege]
    /// Classes of codes about connections, resources, an operator's intervention, and the system.
    static let serverTrouble: Set<String> = ["08", "53", "57", "58"]
    /// Texts that are not of the type they are read as, or out of its range.
    static let invalidTexts: Set<String> = ["22P02", "22003", "22007", "22008"]
}
