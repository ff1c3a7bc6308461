import CLibPQ
import Reactor

extension PostgresConfiguration {
    /// The hosts of a connection string whose identity is not verified before passwords and data are sent: every remote host, unless the
    /// string has `sslmode=verify-full` (PostgreSQL manual, 34.19.1). Empty also when libpq cannot parse the string.
    public static func unverifiedHosts(of connectionString: String) -> [String] {
        guard let parameters = ConnectionParameters(connectionString, PostgresConfiguration(connectionString)),
            parameters.tlsMode != "verify-full"
        else { return [] }
        return parameters.hosts.entries.filter { !isLocal($0) }.map(\.label)
    }

    private static func isLocal(_ entry: HostList.Entry) -> Bool {
        let host = entry.address ?? entry.host
        if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1" { return true }
        return NameLookup.isAddress(host) && host.hasPrefix("127.")
    }
}
