import CoachCore

extension Figures {
    /// The same, with tables that several operators look at read once for all of them as long as nothing was folded since: ten dashboards that reload
    /// cost what one costs. Each caller's right to read must have been checked before, as the routes do.
    public func shared(following live: LiveFigures) -> Figures {
        let tables = SharedReads<SharedTable, FigureTable>(
            lifetime: .seconds(2), capacity: 64, isOwn: { $0 is NotAllowed }, isKept: { $0.rows.count <= 1_000 })
        let read = table
        var figures = self
        figures.table = { caller, figure, query in
            // A table of an older state would outlast the last event that tells of a newer one.
            let key = SharedTable(function: figure.function, query: query, state: try await live.state())
            return try await tables.value(of: key) { try await read(caller, figure, query) }
        }
        return figures
    }
}

private struct SharedTable: Hashable, Sendable {
    var function: String
    var query: FigureQuery
    var state: FigureState
}
