import CLibPQ

/// The fields of an error report (`PG_DIAG_…` in postgres_ext.h, which Swift does not import: they are character literals).
private enum ReportField: Character {
    case sqlState = "C"
    case message = "M"
    case constraint = "n"
    case sourceFunction = "R"
}

extension PostgresError {
    /// The server's report in a failed result.
    init(report result: OpaquePointer) {
        func field(_ field: ReportField) -> String? {
            PQresultErrorField(result, Int32(field.rawValue.asciiValue ?? 0)).map { String(cString: $0) }
        }
        let sqlState = field(.sqlState)
        let isOutdatedPlan = sqlState == "0A000" && field(.sourceFunction) == "RevalidateCachedQuery"
        self.init(
            .server, field(.message) ?? "unknown", sqlState: sqlState, constraint: field(.constraint),
            isOutdatedStatement: isOutdatedPlan || sqlState == "26000")
    }
}

extension Rows {
    /// The server's command tag: `INSERT 0 1`, `COMMIT`.
    var commandTag: String { String(cString: PQcmdStatus(result)) }
}
