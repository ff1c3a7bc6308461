/// SQLSTATE codes that repositories map to errors of their ports (PostgreSQL manual, appendix A; `noDataFound` is PL/pgSQL's).
enum SQLState {
    static let insufficientPrivilege = "42501"
    static let checkViolation = "23514"
    static let noDataFound = "P0002"
}
