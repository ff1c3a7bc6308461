/// Error codes of the server that have a meaning for a caller (PostgreSQL manual, appendix A).
enum SQLState {
    static let insufficientPrivilege = "42501"
    static let checkViolation = "23514"
    static let noDataFound = "02000"
}
