/// Reads rows in JSON Lines.
enum JSONLines {
    static func parse<Row>(
        _ files: [String: String], _ row: (Substring, String) -> Row?
    ) -> (rows: [Row], findings: [String]) {
        var rows: [Row] = []
        var findings: [String] = []
        for (file, content) in files.sorted(by: { $0.key < $1.key }) {
            for (index, line) in content.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                guard line.contains(where: { !$0.isWhitespace }) else { continue }
                if let row = row(line, file) {
                    rows.append(row)
                } else {
                    findings.append("\(file):\(index + 1): not a row")
                }
            }
        }
        return (rows, findings)
    }
}
