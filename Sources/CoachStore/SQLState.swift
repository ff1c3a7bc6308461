/// Error codes of the server that have a meaning for a caller (PostgreSQL manual, appendix A; `noDataFound` is PL/pgSQL's).
enum SQLState {
    static let insufficientPrivilege = "42501"
    static let checkViolation = "23514"
    static let noDataFound = "P0002"
}
